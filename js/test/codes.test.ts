import assert from "node:assert/strict"
import { test } from "node:test"
import type * as chat from "../src/chat.js"
import type * as compat from "../src/compat.js"
import { AgentError, FATAL_ERROR_CODES, type ErrorCode, type TurnWarning, type Warning, type WarningCode } from "../src/index.js"

/** True for identical types: string is not identical to a union that includes it. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

// Checked by the compiler alone.
true satisfies Same<AgentError["code"], ErrorCode>
true satisfies Same<Warning["code"] | TurnWarning["code"], WarningCode>
true satisfies Same<chat.ErrorCode, ErrorCode>
true satisfies Same<compat.WarningCode, WarningCode>
true satisfies Same<Extract<"playback_blocked", ErrorCode>, never>

test("a table of codes is complete or wrong", () => {
  const texts: Partial<Record<ErrorCode, string>> = { timeout: "too slow" }
  // @ts-expect-error a slip of the pen
  texts.tiemout = "too slow"
  FATAL_ERROR_CODES satisfies readonly ErrorCode[]
  assert.equal(String(new AgentError({ code: "made_up_by_a_server" }).code), "made_up_by_a_server")
})
