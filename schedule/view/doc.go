// Package view answers the questions that people and programs ask of a schedule. Which tasks does
// it have, and when do they run next? How is it doing? Why did a task run, or not? What became of
// its slots? What did a run print? Which slots are due in a time? Which servers share it?
//
// The answers are the objects of docs/json.md. They have one encoder, JSON, for `--json` of the
// commands and for the HTTP API. The texts for people are made of the same values. Answering writes
// nothing, locks nothing that a tick or a run would wait for, and needs no environment and no
// streams. Package control does what people ask for. Only WriteTextfile writes: the metrics, into a
// file that its reader asks for.
package view
