// Package view answers the questions that people and programs ask of a schedule: its tasks and when
// they run next, how it is doing, why a task ran or did not, what became of its slots, what a run
// printed, what is due in a time, who shares it.
//
// The answers are the objects of docs/json.md. They have one encoder, JSON, for `--json` of the
// commands and for the HTTP API, and what people read is made of the same values. Answering writes
// nothing, locks nothing that a tick or a run would wait for, and needs no environment and no
// streams. What people ask to be done is for package control. WriteTextfile alone writes: the
// metrics, into the file that their reader asks for.
package view
