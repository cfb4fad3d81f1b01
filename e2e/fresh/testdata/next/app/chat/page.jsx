"use client"
import { useEffect } from "react"
import { begin } from "../../chat.js"

export default function Page() {
  useEffect(() => begin(document), [])
  return (
    <>
      <form>
        <input name="text" aria-label="Your question" />
      </form>
      <output />
    </>
  )
}
