// The value of this script is how loud the microphone is, as soon as it is not silent.
;(async () => {
  const stream = await navigator.mediaDevices.getUserMedia({audio: {echoCancellation: false, noiseSuppression: false, autoGainControl: false}})
  const audio = new AudioContext()
  await audio.resume()
  const analyser = audio.createAnalyser()
  audio.createMediaStreamSource(stream).connect(analyser)
  const data = new Float32Array(analyser.fftSize)
  for (;;) {
    await new Promise(r => setTimeout(r, 20))
    analyser.getFloatTimeDomainData(data)
    const loud = Math.max(...data)
    if (loud > 0.1) return loud
  }
})()
