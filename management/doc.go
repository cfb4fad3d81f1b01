// Package management is the client for the other half of the service: building agents,
// minting tokens, and reading what was said (service.md). It is for servers, command
// lines and CI: it holds the admin secret, so no program for a page may link it.
//
// [New] makes a [Client]; each resource of the service is a field of it. A call gets a
// context first, and returns typed records and a *fault.Error, whose code says what to do
// (errors.Is(err, fault.NotFound)). Bad input is a bad_request before any request.
// A List is an iterator, which requests the next page when the loop gets there:
//
//	for agent, err := range client.Agents.List(ctx, management.AgentFilter{}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(agent.DisplayName)
//	}
//
// The client mints admin tokens for itself. A call whose context has another token
// ([WithToken]) is made with that one. Every delete has to be confirmed
// ([ConfirmPermanent]).
//
// A request takes 30 s at most and is repeated up to three times when that can do no
// harm: reads, updates, and whatever has an idempotency key, which creates and deletes
// have by themselves. Replies of more than 10 MiB are refused.
package management
