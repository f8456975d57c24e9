/**
 * A glance at a name of the file system, made at once: a way to the pool of threads and back takes ten times as long, and a
 * program that starts has several to make. What is not as it should be is for a closer look to tell.
 *
 * @since 0.1.0
 */
import * as fs from "node:fs"

/**
 * Whether there is certainly nothing of that name.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isMissing = (file: string): boolean => {
  try {
    fs.statSync(file)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT"
  }
}

/**
 * Whether it is a directory whose entries may be read.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isReadableDirectory = (directory: string): boolean => {
  try {
    fs.opendirSync(directory).closeSync()
    return true
  } catch {
    return false
  }
}
