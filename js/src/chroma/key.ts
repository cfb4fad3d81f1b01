import { localError } from "../core/errors.js"
import { numberOf } from "../core/part.js"

/** A colour: red, green and blue from 0 to 255, `#rrggbb`, or `"auto"` for that of the corners of the first frame. */
export type KeyColor = "auto" | (string & {}) | readonly [red: number, green: number, blue: number]

/** Options of {@link ChromaKey}. */
export interface ChromaKeyOptions {
  /** The colour of the background. Default `"auto"`. */
  color?: KeyColor | undefined
  /** How far a colour may be from that of the background to be transparent, from 0 to 1. Default 0.1. */
  tolerance?: number | undefined
  /** How soft the edge is: the distance over which colours become opaque, from 0 to 1. Default 0.08. */
  smoothness?: number | undefined
  /** How much of the background's colour is taken out of what is near the edge, from 0 to 1. Default 0.5. */
  spill?: number | undefined
}

const vertexShader = `#version 300 es
out vec2 at;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  at = vec2(corner.x, 1.0 - corner.y);
  gl_Position = vec4(corner * 2.0 - 1.0, 0.0, 1.0);
}`

// The distance of two colours is that of their chroma (BT.601); for a grey background, which
// has none, that of their brightness too.
const fragmentShader = `#version 300 es
precision highp float;
uniform sampler2D picture;
uniform vec3 key;
uniform float tolerance, smoothness, spill;
in vec2 at;
out vec4 pixel;
const mat3 toYCC = mat3(0.299, -0.1687, 0.5, 0.587, -0.3313, -0.4187, 0.114, 0.5, -0.0813);
const mat3 toRGB = mat3(1.0, 1.0, 1.0, 0.0, -0.3441, 1.772, 1.402, -0.7141, 0.0);
void main() {
  vec3 color = toYCC * texture(picture, at).rgb;
  vec3 ground = toYCC * key;
  float strength = length(ground.yz);
  float grey = 1.0 - smoothstep(0.04, 0.2, strength);
  vec3 apart = color - ground;
  float far = length(vec3(apart.x * grey, apart.yz));
  float alpha = smoothstep(tolerance, tolerance + smoothness + 0.001, far);
  vec2 towards = strength > 0.0 ? ground.yz / strength : vec2(0.0);
  float near = 1.0 - smoothstep(tolerance + smoothness, tolerance + smoothness + 0.15, far);
  color.yz -= towards * max(dot(color.yz, towards), 0.0) * spill * near * (1.0 - grey);
  pixel = vec4(clamp(toRGB * color, 0.0, 1.0) * alpha, alpha);
}`

/**
 * Draws each frame of a video into `canvas`, without its background. The page places the
 * canvas; the video must stay in the document, and be painted (`opacity: 0` is).
 *
 * Throws `bad_request` for bad options and `unsupported_browser` without WebGL 2.
 */
export class ChromaKey {
  /** Has the size of the picture in pixels. */
  readonly canvas: HTMLCanvasElement
  readonly #video: HTMLVideoElement
  readonly #gl: WebGL2RenderingContext
  readonly #values: { tolerance: number; smoothness: number; spill: number }
  /** From 0 to 1; undefined until the first frame when it is found in the picture. */
  #key: readonly [number, number, number] | undefined
  #program: WebGLProgram | undefined
  #frame = 0
  #ended = false

  constructor(video: HTMLVideoElement, options: ChromaKeyOptions = {}) {
    if (typeof video?.addEventListener !== "function" || !("videoWidth" in video)) throw localError("bad_request", "a chroma key needs a video element")
    const { color = "auto", tolerance, smoothness, spill } = options ?? {}
    this.#key = color === "auto" ? undefined : colorOf(color)
    this.#values = {
      tolerance: numberOf("tolerance", tolerance, 0.1, 0, 1),
      smoothness: numberOf("smoothness", smoothness, 0.08, 0, 1),
      spill: numberOf("spill", spill, 0.5, 0, 1),
    }
    this.#video = video
    this.canvas = video.ownerDocument.createElement("canvas")
    this.canvas.setAttribute("aria-hidden", "true")
    // The drawing is kept so that a page can copy it.
    const gl = this.canvas.getContext("webgl2", { antialias: false, depth: false, preserveDrawingBuffer: true })
    if (!gl) throw localError("unsupported_browser", "this browser has no WebGL 2; show the picture with its background")
    this.#gl = gl
    this.#program = this.#build()
    this.canvas.addEventListener("webglcontextlost", (event) => event.preventDefault()) // so that it is restored
    this.canvas.addEventListener("webglcontextrestored", () => {
      if (!this.#ended) this.#program = this.#build()
    })
    this.#next()
  }

  /** The colour of the background, from 0 to 255; undefined until it is known. */
  get color(): readonly [number, number, number] | undefined {
    return this.#key && (this.#key.map((part) => Math.round(part * 255)) as [number, number, number])
  }

  /** Ends the drawing and frees the graphics. */
  destroy(): void {
    if (this.#ended) return
    this.#ended = true
    if ("cancelVideoFrameCallback" in this.#video) this.#video.cancelVideoFrameCallback(this.#frame)
    else cancelAnimationFrame(this.#frame)
    this.#gl.getExtension("WEBGL_lose_context")?.loseContext()
  }

  #next(): void {
    if ("requestVideoFrameCallback" in this.#video) this.#frame = this.#video.requestVideoFrameCallback(this.#draw)
    else this.#frame = requestAnimationFrame(this.#draw)
  }

  readonly #draw = (): void => {
    if (this.#ended) return
    this.#next()
    const [gl, video, { canvas }] = [this.#gl, this.#video, this]
    const { videoWidth: width, videoHeight: height } = video
    if (width === 0 || video.readyState < 2 || !this.#program || gl.isContextLost()) return
    this.#key ??= backgroundOf(video)
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height })
    gl.viewport(0, 0, width, height)
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, video)
    gl.uniform3fv(gl.getUniformLocation(this.#program, "key"), this.#key)
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4)
  }

  #build(): WebGLProgram {
    const gl = this.#gl
    const program = gl.createProgram()
    for (const [type, text] of [[gl.VERTEX_SHADER, vertexShader], [gl.FRAGMENT_SHADER, fragmentShader]] as const) {
      const shader = gl.createShader(type)!
      gl.shaderSource(shader, text)
      gl.compileShader(shader)
      gl.attachShader(program, shader)
    }
    gl.linkProgram(program)
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw localError("unsupported_browser", `the graphics of this browser can't remove a background: ${gl.getProgramInfoLog(program)}`)
    }
    gl.useProgram(program)
    for (const [name, value] of Object.entries(this.#values)) gl.uniform1f(gl.getUniformLocation(program, name), value)
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture())
    for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE)
    for (const size of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, size, gl.LINEAR)
    return program
  }
}

function colorOf(color: unknown): [number, number, number] {
  const digits = typeof color === "string" ? /^#([\da-f]{2})([\da-f]{2})([\da-f]{2})$/i.exec(color)?.slice(1) : undefined
  const parts = digits?.map((part) => parseInt(part, 16)) ?? color
  if (!Array.isArray(parts) || parts.length !== 3 || !parts.every((part) => typeof part === "number" && part >= 0 && part <= 255)) {
    throw localError("bad_request", `color must be "auto", #rrggbb, or three numbers from 0 to 255`)
  }
  return parts.map((part: number) => part / 255) as [number, number, number]
}

/** The side of the small copy in which the background is looked for, in pixels. */
const sampleSize = 16

/** The colour of the two corners that are most alike: an agent may reach into the others. */
function backgroundOf(video: HTMLVideoElement): [number, number, number] {
  const canvas = video.ownerDocument.createElement("canvas")
  canvas.width = canvas.height = sampleSize
  const context = canvas.getContext("2d", { willReadFrequently: true })!
  context.drawImage(video, 0, 0, sampleSize, sampleSize)
  const last = sampleSize - 1
  const corners = [[0, 0], [last, 0], [0, last], [last, last]].map(([x, y]) => [...context.getImageData(x!, y!, 1, 1).data].slice(0, 3).map((part) => part / 255))
  let [best, nearest] = [corners[0]!, Infinity]
  for (const [i, a] of corners.entries()) {
    for (const b of corners.slice(i + 1)) {
      const distance = Math.hypot(...a.map((part, at) => part - b[at]!))
      if (distance < nearest) [best, nearest] = [a.map((part, at) => (part + b[at]!) / 2), distance]
    }
  }
  return best as [number, number, number]
}
