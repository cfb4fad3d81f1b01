// The official Socket.IO client, steered from a test. Usage:
//   node client.mjs <directory of node_modules>
//
// Each line of standard input is a command, each line of standard output
// something that happened, both as JSON with the name of the socket:
//   {"socket": "a", "do": "open", "url": …, "token": …, "query": {…}}
//   {"socket": "a", "do": "emit", "event": …, "payload": …}
//   {"socket": "a", "do": "drop"}     the transport dies; the client comes back
//   {"socket": "a", "do": "close"}
// It ends when its standard input does.
import { createRequire } from "node:module"
import { createInterface } from "node:readline"

const { io } = createRequire(process.argv[2] + "/")("socket.io-client")
const sockets = new Map()

const commands = {
  open({ socket: name, url, token, query }) {
    const socket = io(url, {
      path: "/socket.io",
      transports: ["websocket"],
      reconnectionDelay: 50,
      reconnectionDelayMax: 100,
      forceNew: true,
      auth: { token },
      query,
    })
    const tell = (what, more) => console.log(JSON.stringify({ socket: name, what, ...more }))
    sockets.set(name, socket)
    socket.on("connect", () => tell("connect", { id: socket.id, recovered: socket.recovered }))
    socket.on("connect_error", (error) => tell("connect_error", { reason: error.message }))
    socket.on("disconnect", (reason) => tell("disconnect", { reason }))
    socket.onAny((event, ...args) => tell("event", { event, args }))
  },
  emit({ socket: name, event, payload }) {
    sockets.get(name).emit(event, payload)
  },
  drop({ socket: name }) {
    sockets.get(name).io.engine.close()
  },
  close({ socket: name }) {
    sockets.get(name).disconnect()
  },
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line)
  commands[command.do](command)
}
process.exit(0)
