// Package visitor has the calls that a visitor of a page may make beside a
// conversation, with nothing but the conversation token: the visitor's threads,
// their messages and transcripts, ratings of answers, questions to begin with,
// and what the assistant is ready for (service.md "Threads", "Messages,
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
// Every call is one request of its own and keeps no state, so a [Client] may be
// used by several goroutines, and before, during and after a session. Errors are
// *fault.Error: bad_request and validation_error before anything is sent when an
// argument can't be right, the codes of wire-protocol §9.7 afterwards, aborted
// when the context ended. What is repeated after a failure, and when, is
// fetch.Call's policy.
//
// # Whose threads
//
// The service shows what belongs to the user whose id is in the token. A widget
// token is the same for every visitor, so it can't have threads of its own:
// thread and message calls with a token of that kind fail with
// wrong_token_scope, and nothing is sent. For a history of their own, visitors
// need tokens of their own: the server makes an agent token with a distinct user
// id for each of them (service.md "Authentication" rule 10). Of a token whose
// kind isn't known the service judges: forbidden, with its words.
//
// Feedback, suggested questions and the assistant's status are part of any
// conversation, and [Client.AddFeedback], [Client.Followups] and [Client.Status]
// work with what appInit makes of a widget token as well.
//
// # Records
//
// [Thread] and [Message] have fields for what is known of them, and Raw for the
// whole record as the service wrote it: service.md doesn't show all of their
// fields, and the service may add some. They become JSON, and values of a page,
// in the form of Raw.
//
// This package knows nothing of sessions, sockets or media.
package visitor
