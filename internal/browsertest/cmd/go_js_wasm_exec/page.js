// Runs a Go program in the page. The runner calls this function once, with
// pageConfig of config.go and the toolchain's wasm_exec.js as a function of fs.
(config, loadGlue) => {
	"use strict";

	// Tests may replace any of these globals, so they are taken now.
	const XHR = XMLHttpRequest;
	const send = globalThis[config.binding];
	delete globalThis[config.binding];
	const report = (message) => send(JSON.stringify(message));
	const base = location.origin + config.files;

	// One call of the native file system. It is synchronous: output and files
	// then need no event loop, so they work in callbacks and while a page
	// unloads, and are complete when the program exits.
	const call = (op, args, body) => {
		const xhr = new XHR();
		xhr.open("POST", base + op + "?args=" + encodeURIComponent(JSON.stringify(args)), false);
		xhr.setRequestHeader("Authorization", config.secret);
		if (op === "read") {
			// A synchronous request cannot ask for an ArrayBuffer; this charset
			// keeps every byte in the low half of a character.
			xhr.overrideMimeType("text/plain; charset=x-user-defined");
		}
		xhr.send(body);
		if (xhr.status !== 200) {
			throw failure("EIO");
		}
		const code = xhr.getResponseHeader("Error-Code");
		if (code) {
			throw failure(code);
		}
		return op === "read" ? xhr.responseText : JSON.parse(xhr.responseText);
	};

	const failure = (code) => Object.assign(new Error(code), { code });

	const output = (fd, bytes) => {
		// String.fromCharCode takes its arguments from the stack.
		const step = 0x8000;
		let text = "";
		for (let i = 0; i < bytes.length; i += step) {
			text += String.fromCharCode(...bytes.subarray(i, i + step));
		}
		report({ kind: "write", fd, data: btoa(text) });
		return bytes.length;
	};

	const read = (fd, buffer, offset, length, position) => {
		if (fd === 0) {
			return 0; // no standard input: reading it would freeze the page
		}
		const text = call("read", { fd, length, position });
		for (let i = 0; i < text.length; i++) {
			buffer[offset + i] = text.charCodeAt(i) & 0xff;
		}
		return text.length;
	};

	const write = (fd, buffer, offset, length, position) => {
		const bytes = buffer.subarray(offset, offset + length);
		if (fd === 1 || fd === 2) {
			return output(fd, bytes);
		}
		return call("write", { fd, position }, bytes);
	};

	const stats = (s) => Object.assign(s, {
		atimeMs: s.mtimeMs,
		ctimeMs: s.mtimeMs,
		isDirectory: () => (s.mode & 0o170000) === 0o040000,
	});

	let cwd = config.cwd;
	const absolute = (path) => {
		const parts = [];
		for (const part of (path.startsWith("/") ? path : cwd + "/" + path).split("/")) {
			if (part === "..") {
				parts.pop();
			} else if (part !== "" && part !== ".") {
				parts.push(part);
			}
		}
		return "/" + parts.join("/");
	};
	// The kernel resolves ".." after symbolic links, so paths that it will see
	// are joined, not cleaned.
	const at = (path) => path.startsWith("/") ? path : cwd + "/" + path;

	// Programs wait for a callback at the end of the arguments.
	const fsCalls = {
		chmod: (path, mode) => call("chmod", { path: at(path), mode }),
		chown: (path, uid, gid) => call("chown", { path: at(path), uid, gid }),
		close: (fd) => call("close", { fd }),
		fchmod: (fd, mode) => call("fchmod", { fd, mode }),
		fchown: (fd, uid, gid) => call("fchown", { fd, uid, gid }),
		fstat: (fd) => stats(call("fstat", { fd })),
		fsync: (fd) => call("fsync", { fd }),
		ftruncate: (fd, length) => call("ftruncate", { fd, length }),
		lchown: (path, uid, gid) => call("lchown", { path: at(path), uid, gid }),
		link: (path, to) => call("link", { path: at(path), to: at(to) }),
		lstat: (path) => stats(call("lstat", { path: at(path) })),
		mkdir: (path, mode) => call("mkdir", { path: at(path), mode }),
		open: (path, flags, mode) => call("open", { path: at(path), flags, mode }),
		read,
		readdir: (path) => call("readdir", { path: at(path) }),
		readlink: (path) => call("readlink", { path: at(path) }),
		rename: (path, to) => call("rename", { path: at(path), to: at(to) }),
		rmdir: (path) => call("rmdir", { path: at(path) }),
		stat: (path) => stats(call("stat", { path: at(path) })),
		symlink: (to, path) => call("symlink", { path: at(path), to }),
		truncate: (path, length) => call("truncate", { path: at(path), length }),
		unlink: (path) => call("unlink", { path: at(path) }),
		utimes: (path, atime, mtime) => call("utimes", { path: at(path), atime, mtime }),
		write,
	};

	// wakers counts the Go functions that something in the page may still
	// call: all that were ever made, without the callbacks of finished file
	// system calls. Which of the others were released, only Go knows.
	let wakers = 0;
	const fs = { constants: config.open, writeSync: output };
	for (const [name, run] of Object.entries(fsCalls)) {
		fs[name] = (...args) => {
			const callback = args.pop();
			let error = null;
			let result;
			try {
				result = run(...args);
			} catch (e) {
				error = e.code ? e : failure("EIO");
			}
			wakers--;
			callback(error, result);
		};
	}

	const process = {
		pid: config.pid, // -1 would spoil the names of coverage files
		ppid: -1,
		getuid: () => -1,
		getgid: () => -1,
		geteuid: () => -1,
		getegid: () => -1,
		getgroups: () => { throw failure("ENOSYS"); },
		umask: () => { throw failure("ENOSYS"); },
		cwd: () => cwd,
		chdir: (path) => {
			if (!stats(call("stat", { path: at(path) })).isDirectory()) {
				throw failure("ENOTDIR");
			}
			cwd = absolute(path);
		},
	};
	const path = { resolve: (...segments) => absolute(segments.join("/")) };

	const start = async () => {
		const nodeGlobals = { fs, process, path };
		Object.assign(globalThis, nodeGlobals);
		loadGlue(fs);
		const go = new globalThis.Go();
		delete globalThis.Go;
		// Package syscall reads each of these once, while it is initialised.
		// After that a page script that looks for Node must not find it.
		for (const [name, value] of Object.entries(nodeGlobals)) {
			Object.defineProperty(globalThis, name, {
				configurable: true,
				get: () => {
					delete globalThis[name];
					return value;
				},
			});
		}
		go.argv = config.args;
		go.env = config.env;
		go.exit = (code) => report({ kind: "exit", code });

		// Nothing can wake a program that waits with no timer and no function
		// for the page to call. The runtime cannot know that; pending event 0
		// makes it report the deadlock, as under Node.
		const makeFuncWrapper = go._makeFuncWrapper;
		go._makeFuncWrapper = (id) => {
			wakers++;
			return makeFuncWrapper.call(go, id);
		};
		let depth = 0; // Go calls JavaScript that calls Go …
		const enter = (run) => {
			depth++;
			try {
				return run();
			} finally {
				depth--;
				if (depth === 0 && !go.exited && wakers === 0 && go._scheduledTimeouts.size === 0) {
					go._pendingEvent = { id: 0 };
					resume.call(go);
				}
			}
		};
		const resume = go._resume;
		go._resume = () => enter(() => resume.call(go));

		const { instance } = await WebAssembly.instantiateStreaming(fetch(config.program), go.importObject);
		report({ kind: "run" });
		return enter(() => go.run(instance));
	};

	start().catch((error) => report({ kind: "fail", text: "run the program: " + (error?.stack ?? error) }));
}
