/**
 * What is known of programs: by which arguments they run others or write files.
 */

export interface Program {
  /** Letters of short options. A cluster that contains one counts, also if the letter is only a value in it. */
  readonly short?: string
  /** Letters of short options by the subcommand that they follow. */
  readonly under?: Readonly<Record<string, string>>
  /** Long options. The beginning of one counts too, as getopt takes it. */
  readonly long?: ReadonlyArray<string>
  /** Subcommands, wherever they stand. */
  readonly words?: ReadonlyArray<string>
  /** Any argument of this form. */
  readonly form?: RegExp
  /** So does every option that stands before the subcommand, these apart. */
  readonly before?: ReadonlyArray<string>
}

/** A variable of make, given as an argument. */
const variable = /^\w+[:+?!]{0,3}=/

const gcc: Program = { form: /^(?:-wrapper|-fplugin|-B|-specs|--specs|@|-o)/ }
const make: Program = {
  short: "fCIE",
  long: ["--file", "--makefile", "--eval", "--directory", "--include-dir"],
  form: variable
}
const tar: Program = {
  short: "IF",
  long: [
    "--checkpoint-action",
    "--info-script",
    "--new-volume-script",
    "--rmt-command",
    "--rsh-command",
    "--to-command",
    "--use-compress-program"
  ],
  // Options without a dash, and an archive on another host.
  form: /^[a-zA-Z]*[IF][a-zA-Z]*$|^[^/]*:/
}
const fd: Program = { short: "xX", long: ["--exec", "--exec-batch"] }
const docker: Program = { words: ["run", "exec", "cp", "compose", "build", "plugin"], before: [] }
const latex: Program = { form: /shell-escape|write18/ }
const netcat: Program = { short: "ec", long: ["--exec", "--sh-exec", "--lua-exec"] }

export const programs: ReadonlyMap<string, Program> = new Map(
  Object.entries({
    ack: { long: ["--pager", "--ackrc"] },
    ag: { long: ["--pager"] },
    apt: { short: "oc", long: ["--option", "--config-file"] },
    "apt-get": { short: "oc", long: ["--option", "--config-file"] },
    bat: { long: ["--pager"] },
    batcat: { long: ["--pager"] },
    bsdtar: tar,
    bundle: { words: ["exec", "config"] },
    "c++": gcc,
    cargo: {
      words: ["run", "install"],
      before: ["-q", "-v", "--quiet", "--verbose"],
      long: ["--config", "--manifest-path"],
      form: /^\+/
    },
    cc: gcc,
    clang: gcc,
    "clang++": gcc,
    cmake: { short: "PEC" },
    curl: {
      short: "oOKTDc",
      long: [
        "--output",
        "--remote-name",
        "--config",
        "--upload-file",
        "--dump-header",
        "--cookie-jar",
        "--trace",
        "--stderr",
        "--libcurl",
        "--engine",
        "--etag-save",
        "--hsts",
        "--alt-svc"
      ]
    },
    docker,
    eslint: {
      short: "co",
      long: [
        "--config",
        "--rulesdir",
        "--plugin",
        "--resolve-plugins-relative-to",
        "--parser",
        "--output-file",
        "--format"
      ]
    },
    fd,
    fdfind: fd,
    find: { form: /^-(?:delete|fprint0?|fprintf|fls|files0-from)$/ },
    fzf: { long: ["--preview", "--bind"] },
    "g++": gcc,
    gcc,
    gfind: { form: /^-(?:delete|fprint0?|fprintf|fls|files0-from)$/ },
    gh: { words: ["alias", "extension", "config", "codespace"], before: [] },
    git: {
      before: ["--no-pager", "-P", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs", "--version"],
      under: { archive: "o", clone: "uc", "format-patch": "o", grep: "O", "ls-remote": "u", rebase: "x" },
      long: [
        "--config",
        "--config-env",
        "--exec",
        "--exec-path",
        "--ext-diff",
        "--extcmd",
        "--no-index",
        "--open-files-in-pager",
        "--output",
        "--output-directory",
        "--receive-pack",
        "--separate-git-dir",
        "--template",
        "--textconv",
        "--upload-pack"
      ],
      words: [
        "bisect",
        "config",
        "daemon",
        "difftool",
        "filter-branch",
        "hook",
        "instaweb",
        "mergetool",
        "p4",
        "send-email",
        "submodule",
        "svn",
        "upload-pack",
        "receive-pack",
        "web--browse"
      ],
      // Remotes that are commands.
      form: /^(?:ext|fd)::/
    },
    gmake: make,
    go: {
      words: ["run", "generate", "tool"],
      form: /^--?(?:exec|toolexec|vettool|ldflags|gcflags|overlay|modfile|C|o)(?:=|$)/
    },
    gradle: {
      short: "IbcpD",
      long: ["--init-script", "--build-file", "--settings-file", "--project-dir"]
    },
    gsort: { short: "o", long: ["--compress-program", "--output"] },
    gtar: tar,
    hg: { form: /^--(?:config|cwd|repository)|^-R/, before: [] },
    ip: { words: ["netns", "vrf", "exec"], form: /^--?b/ },
    kubectl: { words: ["exec", "run", "cp", "debug", "plugin", "config"], before: [], long: ["--kubeconfig"] },
    latex,
    less: {
      short: "koOT",
      long: ["--lesskey-src", "--lesskey-file", "--lesskey-content", "--log-file", "--LOG-FILE", "--tag-file"],
      form: /^-?\+/
    },
    lualatex: latex,
    make,
    man: { short: "PHCTX", long: ["--pager", "--html", "--config-file", "--troff-device", "--gxditview"] },
    mvn: { short: "fs", form: /^-D|^exec:/ },
    nc: netcat,
    ncat: netcat,
    netcat,
    nerdctl: docker,
    ninja: { short: "fCt" },
    nmap: { short: "o", form: /^--?(?:script|datadir)/ },
    npm: {
      words: ["exec", "x", "explore", "edit", "config", "set", "init", "create"],
      before: ["-s", "--silent"],
      short: "C",
      long: ["--script-shell", "--node-options", "--prefix", "--shell", "--git", "--call", "--editor", "--viewer"]
    },
    pdflatex: latex,
    pnpm: {
      words: ["exec", "dlx", "config", "create"],
      before: ["-s", "--silent", "-r"],
      short: "C",
      long: ["--script-shell", "--node-options", "--dir"]
    },
    podman: docker,
    prove: { short: "e", long: ["--exec"] },
    pytest: { short: "pco", long: ["--rootdir", "--confcutdir", "--override-ini", "--config-file"] },
    rg: { long: ["--pre", "--hostname-bin", "--search-zip"], short: "z" },
    rsync: { short: "e", long: ["--rsh", "--rsync-path"] },
    scp: { short: "SoFD" },
    sftp: { short: "SoFDb" },
    sort: { short: "o", long: ["--compress-program", "--output"] },
    split: { long: ["--filter"] },
    svn: { long: ["--diff-cmd", "--diff3-cmd", "--editor-cmd", "--config-option", "--config-dir"] },
    tar,
    tcpdump: { short: "zwW" },
    tex: latex,
    tsc: { short: "pb", long: ["--project", "--build", "--outDir", "--outFile"] },
    wget: {
      short: "OoaeiP",
      long: [
        "--output-document",
        "--output-file",
        "--append-output",
        "--execute",
        "--use-askpass",
        "--config",
        "--directory-prefix",
        "--post-file",
        "--body-file",
        "--save-cookies"
      ]
    },
    xelatex: latex,
    yarn: {
      words: ["exec", "dlx", "config", "create", "node"],
      before: ["-s", "--silent"],
      long: ["--cwd", "--script-shell"]
    },
    zip: { short: "T", long: ["--unzip-command", "--test"] }
  } satisfies Record<string, Program>)
)

/** They run a program that is given as a file, as text, or on standard input. */
export const interpreters = new Set(
  (
    "sh bash dash ash ksh mksh pdksh zsh fish csh tcsh rbash pwsh powershell nu xonsh elvish " +
    "python pypy ipython perl raku ruby irb jruby node nodejs deno bun tsx ts-node php lua luajit tclsh wish expect " +
    "osascript Rscript R julia scala groovy jshell java ghci runghc runhaskell elixir iex erl escript ocaml sbcl clisp guile racket " +
    "awk gawk mawk nawk m4 dc bc gnuplot octave sqlite sqlite3 psql mysql mariadb mongo mongosh redis-cli " +
    "vi vim nvim view ex ed emacs nano pico gdb lldb npx bunx uvx pipx"
  ).split(" ")
)

/** They take commands on standard input whatever they are given besides, and some of those run programs. */
export const consoles = new Set(
  (
    "dc bc ed ex vi vim nvim view emacs nano pico gdb lldb sqlite sqlite3 psql mysql mariadb mongo mongosh redis-cli " +
    "gnuplot octave telnet ftp sftp"
  ).split(" ")
)

/** They run what their arguments say, in ways that are not read: every argument is one to be spelled. */
export const runners = new Set(
  (
    "ssh parallel su runuser script chroot unshare nsenter flock strace ltrace systemd-run at batch crontab tmux screen " +
    "entr socat run-parts start-stop-daemon taskset chrt cpulimit chpst softlimit setarch linux32 linux64 prlimit numactl " +
    "unbuffer faketime fakeroot valgrind perf caffeinate dbus-run-session xvfb-run torsocks proxychains proxychains4 pkexec " +
    "runcon setpriv capsh sg newgrp firejail bwrap xterm x-terminal-emulator watchexec nodemon coreutils logsave rlwrap " +
    "telnet ftp doas-edit sudoedit visudo vipw uv poetry pipenv conda nix nix-shell guix make-kpkg direnv dotenv " +
    "cscript wscript cmd rundll32 mshta open xdg-open"
  ).split(" ")
)
