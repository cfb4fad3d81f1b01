import { useEffect, useLayoutEffect, useRef } from "react"

// On a server, where effects don't run, React warns about useLayoutEffect.
export const useLayoutEffect_ = typeof document === "undefined" ? useEffect : useLayoutEffect

/** The values of the latest render. */
export function useLatest<Values>(values: Values): { current: Values } {
  const latest = useRef(values)
  useLayoutEffect_(() => {
    latest.current = values
  })
  return latest
}
