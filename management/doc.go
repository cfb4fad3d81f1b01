// Package management is the client for building agents, minting tokens, and reading
// conversations (service.md). It is for servers, command lines and CI: it holds the admin
// secret, so no program for a page may link it.
//
// [New] makes a [Client]; each resource of the service is a field of it. A call takes a
// context first, and returns typed records and a *fault.Error, which is identified by its
// code (errors.Is(err, fault.NotFound)). Invalid input is a bad_request, without a request.
// A List is an iterator, which requests the next page when the loop reaches it:
//
//	for agent, err := range client.Agents.List(ctx, management.AgentFilter{}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(agent.DisplayName)
//	}
//
// The client mints admin tokens for itself. A call whose context has another token
// ([WithToken]) is made with that one. Every delete must be confirmed
// ([ConfirmPermanent]).
//
// A request has a timeout of 30 s for each attempt, and up to three more attempts where
// that is safe: for reads, updates, and calls with an idempotency key, which every create
// and delete has by default. Replies of more than 10 MiB are refused.
package management
