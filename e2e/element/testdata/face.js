// What the tests of face_test.go do in their pages.
import { captions, find, picture, seen, until } from "./element.js"

export async function oneTagIsALiveFace() {
  await until(() => element.phase === "live" && seen("video") && !seen("[part=poster]"))
  await until(() => captions.length > 0)
  const [caption] = captions
  const shown = await picture(find("video"))
  await talk.until("avatarStopTalking")
  return {
    picture: shown, caption, said: [...find("[aria-live=polite]").children].map((line) => line.textContent).join(" "),
    poster: find("[part=poster] img").naturalWidth > 0,
    phases: talk.all("phaseChange").map(({phase}) => phase),
    session: talk.all("sessionCreated")[0].session === element.session,
  }
}
