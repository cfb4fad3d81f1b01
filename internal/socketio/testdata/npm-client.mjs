// The official client, for tests of our server. Usage:
//   node npm-client.mjs <directory of node_modules> <address> <scenario>
// It prints what happens to it, one JSON array a line.
import { createRequire } from "node:module";

const [modules, address, scenario] = process.argv.slice(2);
const { io } = createRequire(modules + "/")("socket.io-client");

const print = (...values) => console.log(JSON.stringify(values, (_, v) => (v?.type === "Buffer" ? { binary: v.data } : v)));

const socket = io(address, {
  transports: ["websocket"],
  query: { stickyId: "k3v9" },
  auth: { token: scenario === "refusal" ? "bad" : "good" },
  reconnectionDelay: 20,
  reconnectionDelayMax: 20,
});
socket.on("connect_error", (err) => {
  print("connect_error", err.message, err.data ?? null, socket.active);
  process.exit();
});
socket.on("disconnect", (reason) => print("disconnect", reason));
socket.onAny((name, ...args) => print("event", name, ...args.filter((a) => typeof a !== "function")));
socket.on("end", end);

// Ends with the closing handshake: the exit of a process resets a connection on
// which something is unread, which is a transport error for the server.
function end() {
  socket.off("disconnect");
  socket.io.engine.transport.ws.addEventListener("close", () => process.exit());
  socket.io.engine.close();
}

let first;
const connections = { n: 0 };
socket.on("connect", () => {
  connections.n++;
  first ??= socket.id;
  print("connect", socket.recovered === true, socket.id === first);
  const run = scenarios[scenario];
  run?.();
});

const scenarios = {
  async events() {
    if (connections.n > 1) return;
    socket.emit("echo", 1, "two", { three: [3] }, null);
    socket.emit("blob", { data: Buffer.from([1, 2]) });
    print("ack", await socket.timeout(5000).emitWithAck("ask", "hello"));
    print("ack", await socket.timeout(5000).emitWithAck("ask blob", Buffer.from([3])));
    print("ack", await socket.timeout(300).emitWithAck("ignore").catch((err) => err.message));
    socket.emit("end");
  },
  "client disconnect": () => {
    socket.io.engine.transport.ws.addEventListener("close", () => process.exit());
    socket.disconnect();
  },
  "server disconnect": () => {
    socket.emit("disconnect me");
    socket.on("disconnect", () => {
      print("active", socket.active);
      process.exit();
    });
  },
  "client ping timeout": () => {
    if (connections.n === 1) socket.emit("stop pings");
    else end();
  },
  "server ping timeout": () => {
    if (connections.n === 1) socket.io.engine.transport.write = () => {};
    else end();
  },
  killed: () => {
    socket.once("before", () => socket.emit("seen"));
    if (connections.n === 1) socket.emit("kill me");
    else socket.emit("end");
  },
};
setTimeout(() => {
  print("too long");
  process.exit(1);
}, 30000);
