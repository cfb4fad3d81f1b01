"use client"
import { useEffect } from "react"
import { begin } from "../agent.js"

export default function Page() {
  useEffect(() => begin(document), [])
  return (
    <>
      <video playsInline />
      <button>Start</button>
      <form>
        <input name="text" aria-label="Your question" />
      </form>
      <output />
    </>
  )
}
