/**
 * agentruntime/testing: sessions with a scripted agent, for tests of a page in jsdom, happy-dom
 * or a browser, without a network (docs/pagetests.md).
 */
export { FakeAgent, type ConnectFailure, type FakeAgentOptions } from "./testing/fakeagent.js"
export { FakeAgentSession, FakeAvatarSession, FakeChatSession, type FakeOptions } from "./testing/sessions.js"
export type { ReceivedTurn, Rule, ScriptedCall, ScriptedWidget, Step, When } from "./testing/script.js"
