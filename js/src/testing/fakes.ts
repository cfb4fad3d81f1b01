/**
 * agentruntime/testing/fakes: fetch, sockets, peers and audio without a network or a browser, with
 * the names of the reference client's test fakes (docs/parts.md#test-fakes). The sessions of
 * `agentruntime` take no such parts: for them `agentruntime/testing` has fake sessions.
 */
export { fakeFetch, streamFrom, streamFromChunks, type FakeFetch, type FakeReply, type FakeRequest, type FakeRoute } from "./fakes/fetch.js"
export {
  FakeAnalyserNode, FakeAudioContext, FakeAudioWorkletNode, fakeGetUserMedia, FakeMediaStream, FakeMediaStreamCtor, FakeMediaStreamTrack,
  FakeRTCPeerConnection, FakeRTCRtpReceiver, FakeVideoEl, type FakeGetUserMedia,
} from "./fakes/rtc.js"
export { FakeSocket, scriptHappyPath, type Emitted, type HappyPath } from "./fakes/socket.js"
