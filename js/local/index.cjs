// Where the parts of this package are. Each platform has a package with the program; npm
// installs the one that fits (optionalDependencies).

const { join } = require("node:path")

/** The path of the local service's program on this platform. */
exports.programPath = () => {
  const name = `agentruntime-local-${process.platform}-${process.arch}`
  const file = process.platform === "win32" ? "localservice.exe" : "localservice"
  try {
    return require.resolve(`${name}/${file}`)
  } catch (cause) {
    throw new Error(`there is no program for this platform: the package ${name} is not installed. It is an optional dependency of agentruntime-local, so install without --omit=optional.`, { cause })
  }
}

/** The directory with the example pages, for the flag -pages. */
exports.pages = join(__dirname, "pages")
