// Generated from runtime/appinit by "go generate ./runtime/event"; don't edit.

/** The region of a page that names none. */
export const defaultRegion = "nvp1"

/** The addresses of each region, by the names of the options that replace them. */
export const regions: Readonly<Record<string, Readonly<Record<"agenticUrl" | "ovpUrl", string>>>> = {
  nvp1: {
    agenticUrl: "https://api.avatar.us.kaltura.ai/v1",
    ovpUrl: "https://www.kaltura.com/api_v3",
  },
  frp2: {
    agenticUrl: "https://api.avatar.eu.kaltura.ai/v1",
    ovpUrl: "https://api.frp2.ovp.kaltura.com/api_v3",
  },
}

/** The paths of the requests, after the address of their service. */
export const startWidgetSession = "/service/session/action/startWidgetSession"
export const initPath = "/application/appInit"
