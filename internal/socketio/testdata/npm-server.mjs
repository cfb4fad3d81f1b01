// The official server, for tests of our client. Usage:
//   node npm-server.mjs <directory of node_modules>
// It prints its address as one line and ends when its standard input ends.
//
// /socket.io  recovery on            /plain  recovery off
// /ping       heartbeat of 300 ms and 2 s, recovery off
// /slow       like /plain, but the WebSocket handshake takes 700 ms
// /refuse     answers the WebSocket handshake with 403
import { createServer } from "node:http";
import { createRequire } from "node:module";

const require = createRequire(process.argv[2] + "/");
const { Server } = require("socket.io");

const http = createServer((_, res) => res.writeHead(404).end());
const open = new Set(); // sockets that are or want to be WebSockets
http.on("upgrade", (req, socket) => {
  open.add(socket);
  socket.on("close", () => open.delete(socket));
  socket.on("error", () => {});
  if (req.url.startsWith("/refuse")) {
    socket.end("HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n");
  }
});

const always = { destroyUpgrade: false, transports: ["websocket"] };
const recovery = new Server(http, { ...always, connectionStateRecovery: { maxDisconnectionDuration: 20000 } });
const plain = new Server(http, { ...always, path: "/plain" });
const ping = new Server(http, { ...always, path: "/ping", pingInterval: 300, pingTimeout: 2000 });

const slow = new Server({ ...always, path: "/slow" });
slow.attach(createServer(), { ...always, path: "/slow" });
http.on("upgrade", (req, socket, head) => {
  if (req.url.startsWith("/slow")) {
    setTimeout(() => slow.engine.handleUpgrade(req, socket, head), 700);
  }
});

const servers = { recovery, plain, ping, slow };
for (const [name, io] of Object.entries(servers)) {
  io.use((socket, next) => {
    if (socket.handshake.auth.token !== "bad") {
      return next();
    }
    const err = new Error("unauthorized");
    err.data = { code: 7 };
    next(err);
  });
  io.on("connection", (socket) => serve(io, name, socket));
}

function serve(io, name, socket) {
  const { token } = socket.handshake.auth;
  if (!socket.recovered) {
    socket.emit("welcome", { name, token, query: socket.handshake.query.stickyId, eio: socket.handshake.query.EIO });
  }
  socket.on("echo", (...args) => {
    const last = args.at(-1);
    if (typeof last === "function") {
      return last(...args.slice(0, -1));
    }
    socket.emit("echo", ...args);
  });
  socket.on("ask me", (...args) => {
    socket.emit("question", ...args, (...answer) => socket.emit("answered", ...answer));
  });
  socket.on("never answered", () => {});
  socket.on("large", (n) => socket.emit("large", "x".repeat(n)));
  socket.on("disconnect me", () => socket.disconnect());
  socket.on("note", (note) => (socket.data.note = note));
  socket.on("note?", (ack) => ack(socket.data.note));
  socket.on("kill me", () => {
    // What is sent to the session's room while it is away is kept for its return.
    socket.once("disconnect", () => {
      io.to(socket.id).emit("missed", 1);
      io.to(socket.id).emit("missed", Buffer.from([2]));
    });
    socket.conn.transport.socket.terminate();
  });
  socket.on("break a frame", () => socket.conn.transport.socket._socket.write(Buffer.from([0x83, 0]))); // opcode 3 is reserved
  // Of this connection, until another one asks to read again.
  socket.on("stop reading", (ack) => {
    const ws = socket.conn.transport.socket;
    ws.pause();
    paused.push(ws);
    ack();
  });
  socket.on("read again", (ack) => {
    for (const ws of paused.splice(0)) ws.resume();
    ack();
  });
  socket.on("flood", (n) => {
    for (let i = 0; i < n; i++) socket.emit("f");
  });
  // Sockets that are open, of all paths.
  socket.on("open sockets", (ack) => ack(open.size));
}
const paused = [];

http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}`));
process.stdin.on("end", () => process.exit(0)).resume();
