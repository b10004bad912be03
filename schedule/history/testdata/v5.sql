-- a history of version 5, made from that of version 4
BEGIN TRANSACTION;
CREATE TABLE meta (
	key   TEXT NOT NULL PRIMARY KEY,
	value ANY
) WITHOUT ROWID;
INSERT INTO "meta" VALUES('cursor','');
INSERT INTO "meta" VALUES('pruned',1795168800000000);
CREATE TABLE runs (
	run         TEXT NOT NULL PRIMARY KEY,
	task        TEXT NOT NULL,
	mutex       TEXT NOT NULL,
	slot        INTEGER NOT NULL,
	background  INTEGER NOT NULL,
	server      TEXT NOT NULL,
	started     INTEGER,
	ended       INTEGER,
	outcome     TEXT NOT NULL,
	reason      TEXT NOT NULL,
	exit_code   INTEGER,
	attempts    INTEGER NOT NULL,
	user_cpu    INTEGER NOT NULL,
	system_cpu  INTEGER NOT NULL,
	peak_memory INTEGER NOT NULL,
	output      TEXT NOT NULL,
	notes       TEXT,
	snapshot    INTEGER REFERENCES snapshots (id)
, until  INTEGER, slots  INTEGER NOT NULL DEFAULT 0, origin TEXT NOT NULL DEFAULT '', chain TEXT);
INSERT INTO "runs" VALUES('01a1fdc3-c020-72f9-9ae5-eeeb8b87eafc','fine','fine',1795168800000000,0,'vm',1795258826784961,1795258826786958,'succeeded','',0,1,1475,0,9457664,'',NULL,1,NULL,0,'',NULL);
INSERT INTO "runs" VALUES('01a1fdc3-c023-7222-ab58-1bb5b664141b','broken','shared',1795168800000000,0,'vm',1795258826787617,1795258826788873,'failed','exit code 3',3,1,1113,0,9457664,'',NULL,2,NULL,0,'',NULL);
INSERT INTO "runs" VALUES('01a1fdc3-c024-7e7e-aebf-afc0cff42d26','never','never',1795168800000000,0,'vm',NULL,1795258826788952,'skipped','not on Friday',NULL,0,0,0,0,'',NULL,NULL,NULL,0,'',NULL);
CREATE TABLE snapshots (
	id   INTEGER PRIMARY KEY,
	hash BLOB NOT NULL UNIQUE,
	body TEXT NOT NULL
);
INSERT INTO "snapshots" VALUES(1,X'57B284E7E38E7FBD0C830D9636BD53F7C3061337442F6C999F699FA3A0B547E3','{"name":"fine","command":{"line":"true","shell":["/bin/sh","-c"]},"folder":"/srv/shop","dir":"/srv/shop","mutex":"fine","kill_after":10000000000,"retry":{"attempts":1,"backoff":1},"success_codes":[0],"output":{},"hooks":{}}');
INSERT INTO "snapshots" VALUES(2,X'1344FE307C7BBE2A99AA7CA0DE8C25EA753AF1FD4D6AAC2460841D87313FED32','{"name":"broken","command":{"line":"exit 3","shell":["/bin/sh","-c"]},"folder":"/srv/shop","dir":"/srv/shop","without_overlapping":true,"mutex":"shared","kill_after":10000000000,"retry":{"attempts":1,"backoff":1},"success_codes":[0],"output":{},"hooks":{}}');
CREATE TABLE totals (
	task      TEXT NOT NULL,
	outcome   TEXT NOT NULL,
	slots     INTEGER NOT NULL,
	run       TEXT NOT NULL,
	slot      INTEGER NOT NULL,
	started   INTEGER,
	ended     INTEGER,
	exit_code INTEGER,
	PRIMARY KEY (task, outcome)
) WITHOUT ROWID;
INSERT INTO "totals" VALUES('broken','failed',1,'01a1fdc3-c023-7222-ab58-1bb5b664141b',1795168800000000,1795258826787617,1795258826788873,3);
INSERT INTO "totals" VALUES('fine','succeeded',1,'01a1fdc3-c020-72f9-9ae5-eeeb8b87eafc',1795168800000000,1795258826784961,1795258826786958,0);
INSERT INTO "totals" VALUES('never','skipped',1,'01a1fdc3-c024-7e7e-aebf-afc0cff42d26',1795168800000000,NULL,1795258826788952,NULL);
CREATE INDEX runs_task    ON runs (task, slot, snapshot);
CREATE INDEX runs_mutex   ON runs (mutex, slot) WHERE mutex <> task;
CREATE INDEX runs_slot    ON runs (slot);
CREATE INDEX runs_ran     ON runs (task, run) WHERE outcome NOT IN ('skipped', 'missed');
CREATE INDEX runs_trouble ON runs (outcome, slot) WHERE outcome <> 'succeeded';
CREATE INDEX runs_tail    ON runs (substr(run, -4));
CREATE INDEX runs_until ON runs (until, slot, task) WHERE until IS NOT NULL;
COMMIT;
PRAGMA user_version = 5;
