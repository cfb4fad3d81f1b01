// Package recognizer detects when a user speaks and what the user says: voice-activity detection on the sound of a microphone, and
// transcription.
//
// A [Detector] is a pure function of sound: its only clock is the number of samples it was fed, so it behaves the same in a test and on a
// live microphone. A [Listener] puts a detector and a [Transcriber] together for one session and reports what happens.
//
// The package is independent of WebRTC, codecs, and the turns of a conversation.
package recognizer
