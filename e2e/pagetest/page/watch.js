// @ts-nocheck: replaces functions of the browser by some with fewer forms
// Counts a page's resources. It runs before any of the page's own scripts.
;(() => {
  const peers = []
  const microphones = []
  const sockets = []
  const contexts = []
  const timers = new Set()
  const listeners = new Map() // keys by target, for targets that outlive a session

  const remember = (name, list) => {
    const Original = globalThis[name]
    globalThis[name] = class extends Original {
      constructor(...args) {
        super(...args)
        list.push(this)
      }
    }
  }
  remember("RTCPeerConnection", peers)
  remember("WebSocket", sockets)
  remember("AudioContext", contexts)

  const media = navigator.mediaDevices
  if (media) {
    const ask = media.getUserMedia.bind(media)
    media.getUserMedia = async (constraints) => {
      const stream = await ask(constraints)
      microphones.push(...stream.getTracks())
      return stream
    }
  }

  for (const [start, stop] of [["setTimeout", "clearTimeout"], ["setInterval", "clearInterval"]]) {
    const begin = globalThis[start]
    const end = globalThis[stop]
    globalThis[start] = (f, ...rest) => {
      const id = begin((...args) => {
        if (start === "setTimeout") timers.delete(id)
        f(...args)
      }, ...rest)
      timers.add(id)
      return id
    }
    globalThis[stop] = (id) => {
      timers.delete(id)
      end(id)
    }
  }

  const lasting = (target) =>
    target === globalThis || target === document || target === media || target instanceof Element || target === navigator.connection
  const keys = new WeakMap()
  let known = 0
  const keyOf = (type, f, options) => {
    if (!keys.has(f)) keys.set(f, known++)
    return `${type} ${keys.get(f)} ${options === true || Boolean(options?.capture)}`
  }
  const add = EventTarget.prototype.addEventListener
  const remove = EventTarget.prototype.removeEventListener
  const forget = (target, key) => listeners.get(target)?.delete(key)
  EventTarget.prototype.addEventListener = function (type, f, options) {
    const target = this ?? globalThis
    if (f && lasting(target)) {
      const key = keyOf(type, f, options)
      if (!listeners.has(target)) listeners.set(target, new Set())
      listeners.get(target).add(key)
      if (options?.once) add.call(target, type, () => forget(target, key), options)
      options?.signal?.addEventListener("abort", () => forget(target, key), { once: true })
    }
    return add.call(target, type, f, options)
  }
  EventTarget.prototype.removeEventListener = function (type, f, options) {
    const target = this ?? globalThis
    if (f) forget(target, keyOf(type, f, options))
    return remove.call(target, type, f, options)
  }

  globalThis.watched = {
    peers,
    microphones,
    /** The current counts. */
    count: () => ({
      peers: peers.filter((peer) => peer.connectionState !== "closed").length,
      sockets: sockets.filter((socket) => socket.readyState < WebSocket.CLOSING).length,
      contexts: contexts.filter((context) => context.state !== "closed").length,
      microphones: microphones.filter((track) => track.readyState === "live").length,
      timers: timers.size,
      listeners: [...listeners.values()].reduce((sum, set) => sum + set.size, 0),
      /** Those of them that outlive all elements. */
      pageListeners: [...listeners].reduce((sum, [target, set]) => sum + (target instanceof Element ? 0 : set.size), 0),
    }),
  }
})()
