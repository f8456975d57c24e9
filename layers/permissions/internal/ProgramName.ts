/**
 * Which program a name means.
 */

/** The name by which a program is known: `git` of `/usr/bin/git`, `bash` of `bash.exe`. */
export const baseName = (program: string): string =>
  program
    .slice(program.lastIndexOf("/") + 1)
    .replace(/\.exe$/i, "")
    .toLowerCase()

/** It is what the name says: found by the shell, or where only the system puts programs. */
export const isSystem = (program: string): boolean => /^(?:(?:\/usr)?\/s?bin\/)?[^/]+$/.test(program)
