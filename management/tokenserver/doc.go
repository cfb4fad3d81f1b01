// Package tokenserver gives the visitors of a site their conversations with an agent: the
// server side that every page with an agent needs, because the admin secret must not
// reach a page (service.md "Authentication" rule 10).
//
// A signed-in visitor's page posts to the [Handler] and gets what it needs to connect: a
// conversation token of that visitor alone, with threads of their own, and the hosts.
// The reply can be spread into the options of a session. The same request renews the
// token:
//
//	const ask = async () => {
//	  const reply = await fetch("/conversation", { method: "POST" })
//	  if (!reply.ok) throw await reply.json() // code, message
//	  return reply.json()
//	}
//	const session = new ChatSession({ ...(await ask()), onTokenNeeded: async () => (await ask()).ks })
//
// The package does not handle sign-in; a function of the site identifies the visitor of a
// request.
package tokenserver
