// Package av is sound and pictures for native programs: what the agent says as PCM, its picture
// as encoded frames, and a microphone whose sound is PCM, a file or a stream.
//
// In a page the browser does this work, so everything but this comment is for native builds.
// The package must not depend on sessions: it reads tracks, as [media.Platform].OnTrack gets
// them, and makes sources for OpenMicrophone.
package av
