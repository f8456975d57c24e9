// What node itself takes.
process.exitCode = 0
