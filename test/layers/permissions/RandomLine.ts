/**
 * Command lines made at random from pieces of the shell's grammar, some of them broken on purpose.
 */

/** Numbers from 0 to 1, the same for one seed. */
export const random = (seed: number) => {
  let state = seed >>> 0
  return (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export const programs = ["a", "b", "rm", "ls"]

const plain = [
  "a",
  "b",
  "rm",
  "ls",
  "x",
  "-f",
  "--",
  "1",
  "a=b",
  "there",
  "'a b'",
  '"a b"',
  "''",
  "{}",
  "+",
  "\\;",
  "a\\ b"
]

const odd = [
  "r''m",
  'r"m"',
  "\\rm",
  "$'r\\155'",
  "$'rm'",
  '$"rm"',
  "$x",
  '"$x"',
  "${x}",
  "${x:-rm}",
  "${x:=rm}",
  "${x#a}",
  "r{m,s}",
  "{rm,a}",
  "r?",
  "t*",
  "*",
  "~",
  "a=~",
  "#",
  "a#b",
  "$((1+1))",
  "$((x))",
  "$[1]",
  "!",
  "\\\n",
  "r\\\nm",
  "$IFS",
  "rm${IFS}x",
  "[",
  "]",
  "[[",
  "]]",
  "{",
  "}",
  "é",
  "\u00a0",
  "'",
  '"',
  "\\",
  "$",
  "`",
  "=",
  "a+=b",
  "a[0]=b",
  "time",
  "if",
  "then",
  "fi"
]

/** None that takes the path away: the programs that are found then are real. */
const wrappers = [
  "env",
  "env -u x --",
  "env x=1",
  "timeout 5",
  "timeout -k 1 5",
  "nice",
  "nice -n 1",
  "nohup",
  "stdbuf -oL",
  "command",
  "builtin",
  "builtin command",
  "exec",
  "eval",
  "time",
  "!",
  "xargs",
  "xargs -n 1",
  "x=1",
  "x=$(rm)",
  "NO_COLOR=1",
  "coproc",
  "trap"
]

export const line = (next: () => number): string => {
  const pick = <A>(items: ReadonlyArray<A>): A => items[Math.floor(next() * items.length)]!
  const chance = (share: number) => next() < share

  const word = (depth: number): string => {
    const kind = next()
    if (kind < 0.6 || depth <= 0) return pick(plain)
    if (kind < 0.75) return pick(odd)
    if (kind < 0.8) return `$(${list(depth - 1)})`
    if (kind < 0.84) return `"$(${list(depth - 1)})"`
    if (kind < 0.87) return `\`${list(0)}\``
    if (kind < 0.9) return `<(${list(depth - 1)})`
    if (kind < 0.93) return `\${x:-$(${list(depth - 1)})}`
    if (kind < 0.96) return `$((1 + $(${list(0)})))`
    return `'${simple(0).replaceAll("'", "")}'`
  }

  const words = (depth: number): string => Array.from({ length: Math.floor(next() * 4) }, () => word(depth)).join(" ")

  const redirection = (depth: number): string =>
    pick([
      "> out",
      ">out",
      ">> out",
      "2> out",
      "&> out",
      ">| out",
      ">& out",
      "<> out",
      "2>&1",
      "< there",
      "<&-",
      "> /dev/null",
      `<<< ${word(depth)}`,
      `<<E\n${word(depth)}\nE\n`,
      `<<'E'\n${word(depth)}\nE\n`,
      `<<-E\n\t${word(depth)}\n\tE\n`
    ])

  const simple = (depth: number): string => {
    const kind = next()
    const tail = chance(0.2) ? ` ${redirection(depth)}` : ""
    if (kind < 0.5) return `${pick(programs)} ${words(depth)}${tail}`
    if (kind < 0.75) return `${pick(wrappers)} ${simple(depth)}${tail}`
    if (kind < 0.8) return `sh -c '${list(0).replaceAll("'", "")}'${tail}`
    if (kind < 0.85) return `bash -c "${list(0).replaceAll(/["$`\\]/g, "")}"${tail}`
    if (kind < 0.88) return `find . -exec ${simple(0)} {} \\;`
    if (kind < 0.9) return `trap '${list(0).replaceAll("'", "")}' EXIT`
    if (kind < 0.95) return `${word(depth)} ${words(depth)}${tail}`
    return pick([
      "cd .",
      "set -e",
      "alias ls=rm",
      "shopt -s expand_aliases",
      "x=rm",
      "export x=a",
      "echo $x",
      "true",
      "[ a = a ]"
    ])
  }

  const compound = (depth: number): string => {
    if (depth <= 0 || chance(0.6)) return simple(depth)
    const inner = () => list(depth - 1)
    return pick([
      () => `(${inner()})`,
      () => `{ ${inner()}; }`,
      () => `if ${inner()}; then ${inner()}; else ${inner()}; fi`,
      () => `for x in ${words(depth - 1)}; do ${inner()}; done`,
      () => `case ${word(depth - 1)} in ${word(0)}) ${inner()};; *) ${inner()};; esac`,
      () => `ls() { ${inner()}; }`,
      () => `[[ ${word(depth - 1)} == ${word(0)} ]]`,
      () => `(( 1 + $(${inner()}) ))`,
      () => `((${inner()}))`
    ])()
  }

  const list = (depth: number): string =>
    Array.from({ length: 1 + Math.floor(next() * 2.5) }, () => compound(depth)).reduce(
      (all, command) => `${all}${pick(["; ", " && ", " || ", " | ", "\n", " & ", ";", " # x\n", "|"])}${command}`
    )

  const whole = list(2)
  if (!chance(0.3)) return whole
  const at = Math.floor(next() * whole.length)
  return chance(0.5) ? whole.slice(0, at) + whole.slice(at + 1) : whole.slice(0, at) + pick(odd) + whole.slice(at)
}
