// Package visitor has the calls that a visitor of a page may make outside of a
// conversation with the conversation token: the visitor's threads, their messages and
// transcripts, ratings of answers, suggested questions and the assistant's status
// (service.md "Threads", "Messages,
// feedback, followups" and "Converse and status"; wire-protocol §9.10).
//
//	client, err := visitor.New(visitor.Options{Token: init.KS, Kind: init.Kind, GenieURL: &init.GenieURL})
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	for thread, err := range client.AllThreads(ctx, visitor.ThreadQuery{}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(thread.Title, thread.UpdatedAt.Time().Format(time.DateOnly))
//	}
//
// Every call is one request and keeps no state, so a [Client] may be used by several
// goroutines, and before, during and after a session. Errors are *fault.Error:
// bad_request and validation_error for an invalid argument, without a request, the
// codes of wire-protocol §9.7, and aborted when the context ended. fetch.Call decides
// which failures are retried.
//
// # Access to threads
//
// The service returns the threads of the user whose id is in the token. A widget token
// is the same for every visitor and has no threads: thread and message calls with one
// fail with wrong_token_scope, without a request. To keep a history per visitor, the
// server makes an agent token with a distinct user id for each of them (service.md
// "Authentication" rule 10). For a token of unknown kind the service decides; it
// answers with forbidden.
//
// Feedback, suggested questions and the assistant's status need no user:
// [Client.AddFeedback], [Client.Followups] and [Client.Status]
// work with what appInit makes of a widget token as well.
//
// # Records
//
// [Thread] and [Message] have the documented fields, and in Raw the whole record of the
// service, which may have more. They are marshaled as Raw, for JSON and for pages.
//
// This package must not depend on sessions, sockets or media.
package visitor
