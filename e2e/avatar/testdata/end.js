// What the tests of end_test.go do in their pages.

export async function disconnectTellsTheService() {
  const from = talk.now
  talk.session.disconnect()
  const sent = await talk.until("sessionCompleted")
  talk.session.disconnect()
  return {
    states: talk.all("stateChange", from).map(({state}) => state),
    ended: talk.all("ended").map(({reason}) => reason),
    sent,
    src: document.getElementById("video").srcObject !== null,
  }
}
