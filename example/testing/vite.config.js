// The modules of the package stay beside its WebAssembly files.
export default { optimizeDeps: { exclude: ["agentruntime"] } }
