-- A store of schema version 13: before zones of messages and latest begins. Never edit: stores like this one exist.
PRAGMA application_id=1314079565;
PRAGMA user_version=13;
BEGIN TRANSACTION;
CREATE TABLE counters (
	name TEXT NOT NULL, 
	value BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "counters" VALUES('epochs',5);
INSERT INTO "counters" VALUES('episodes',13);
INSERT INTO "counters" VALUES('units',32);
INSERT INTO "counters" VALUES('jobs',24);
INSERT INTO "counters" VALUES('hierarchy_versions',5);
INSERT INTO "counters" VALUES('history',2);
INSERT INTO "counters" VALUES('derived_texts',3);
CREATE TABLE decisions (
	seq BIGINT NOT NULL, 
	id TEXT NOT NULL, 
	namespace TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	action TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	relation TEXT NOT NULL, 
	topic TEXT NOT NULL, 
	object TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	statement_seq BIGINT, 
	fact_ids TEXT NOT NULL, 
	"before" TEXT NOT NULL, 
	undone BOOLEAN NOT NULL, 
	PRIMARY KEY (seq), 
	FOREIGN KEY(namespace) REFERENCES "fact_namespaces" (id), 
	FOREIGN KEY(statement_seq) REFERENCES statements (seq)
);
CREATE TABLE derivations (
	namespace TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	part TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	basis TEXT NOT NULL, 
	made_at BIGINT NOT NULL, 
	PRIMARY KEY (namespace, kind, part), 
	FOREIGN KEY(namespace) REFERENCES fact_namespaces (id)
)
 WITHOUT ROWID

;
INSERT INTO "derivations" VALUES('afb4860e959ad1a55d8b027e23640739','insight','c8d42beb588d1fbaf100914025569464','ada','05b41a84e3db6b80686665aebb31dd5c',1798761600000000);
INSERT INTO "derivations" VALUES('afb4860e959ad1a55d8b027e23640739','insight','ccf1400e6e19306568026016209ded03','ada','8fdfca6056ee8007912f7731e722f887',1798761600000000);
INSERT INTO "derivations" VALUES('b372b656b46b4749432dabf86231586c','insight','c8d42beb588d1fbaf100914025569464','bob','a4a2b8858e8328ea2db0b85d9a94e7d6',1798761600000000);
CREATE TABLE derived_links (
	derived_seq BIGINT NOT NULL, 
	source_seq BIGINT NOT NULL, 
	user_id TEXT NOT NULL, 
	cited BOOLEAN NOT NULL, 
	PRIMARY KEY (derived_seq, source_seq), 
	FOREIGN KEY(derived_seq) REFERENCES derived_texts (seq), 
	FOREIGN KEY(source_seq) REFERENCES derived_texts (seq)
)
 WITHOUT ROWID

;
CREATE TABLE derived_omissions (
	namespace TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	part TEXT NOT NULL, 
	source_seq BIGINT NOT NULL, 
	user_id TEXT NOT NULL, 
	PRIMARY KEY (namespace, kind, part, source_seq), 
	FOREIGN KEY(namespace) REFERENCES fact_namespaces (id), 
	FOREIGN KEY(source_seq) REFERENCES derived_texts (seq)
)
 WITHOUT ROWID

;
CREATE TABLE derived_sources (
	derived_seq BIGINT NOT NULL, 
	episode_seq BIGINT NOT NULL, 
	user_id TEXT NOT NULL, 
	cited BOOLEAN NOT NULL, 
	PRIMARY KEY (derived_seq, episode_seq), 
	FOREIGN KEY(derived_seq) REFERENCES derived_texts (seq), 
	FOREIGN KEY(episode_seq) REFERENCES episodes (seq)
)
 WITHOUT ROWID

;
INSERT INTO "derived_sources" VALUES(1,1,'ada',1);
INSERT INTO "derived_sources" VALUES(1,3,'ada',1);
INSERT INTO "derived_sources" VALUES(1,5,'ada',1);
INSERT INTO "derived_sources" VALUES(1,7,'ada',1);
INSERT INTO "derived_sources" VALUES(1,8,'ada',1);
INSERT INTO "derived_sources" VALUES(2,9,'bob',1);
INSERT INTO "derived_sources" VALUES(2,10,'bob',1);
INSERT INTO "derived_sources" VALUES(2,11,'bob',1);
CREATE TABLE derived_texts (
	seq BIGINT NOT NULL, 
	id TEXT NOT NULL, 
	namespace TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	part TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	confidence FLOAT NOT NULL, 
	since BIGINT NOT NULL, 
	until BIGINT NOT NULL, 
	made_at BIGINT NOT NULL, 
	PRIMARY KEY (seq), 
	FOREIGN KEY(namespace) REFERENCES fact_namespaces (id)
);
INSERT INTO "derived_texts" VALUES(1,'e6d39072e446cfc07909cb7bbb2ebaf7','afb4860e959ad1a55d8b027e23640739','ada','insight','ccf1400e6e19306568026016209ded03',0,'The user spoke 5 times.',0.5,1714640400000000,1714640820000000,1798761600000000);
INSERT INTO "derived_texts" VALUES(2,'930dad9e46846b0835a1bb715b585a8e','b372b656b46b4749432dabf86231586c','bob','insight','c8d42beb588d1fbaf100914025569464',0,'The user spoke 3 times.',0.5,1714640400000000,1714640400000000,1798761600000000);
CREATE TABLE drafts (
	hierarchy_id TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	text TEXT NOT NULL, 
	PRIMARY KEY (hierarchy_id, "key")
)
 WITHOUT ROWID

;
CREATE TABLE entities (
	namespace TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	name TEXT NOT NULL, 
	canonical TEXT, 
	PRIMARY KEY (namespace, "key"), 
	FOREIGN KEY(namespace) REFERENCES "fact_namespaces" (id)
);
CREATE TABLE episodes (
	seq BIGINT NOT NULL, 
	id TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	agent_id TEXT, 
	run_id TEXT, 
	stream_id TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	role TEXT NOT NULL, 
	name TEXT, 
	session TEXT, 
	text TEXT NOT NULL, 
	text_hash TEXT NOT NULL, 
	metadata TEXT NOT NULL, 
	idempotency_key TEXT, 
	occurred_at BIGINT, 
	recorded_at BIGINT NOT NULL, 
	expires_at BIGINT, 
	status TEXT NOT NULL, 
	write BOOLEAN, 
	decision TEXT, 
	observation TEXT, 
	encoded BOOLEAN NOT NULL, 
	importance FLOAT NOT NULL, 
	strength FLOAT NOT NULL, 
	accesses INTEGER NOT NULL, 
	PRIMARY KEY (seq), 
	UNIQUE (user_id, idempotency_key), 
	UNIQUE (stream_id, position), 
	UNIQUE (id), 
	FOREIGN KEY(user_id) REFERENCES users (user_id), 
	FOREIGN KEY(stream_id) REFERENCES streams (id)
);
INSERT INTO "episodes" VALUES(1,'978dad4fa25f6a43d37bb87524b91021','ada',NULL,NULL,'9266e2402169be96d9196b48fd8ccbc3',0,'user','Kim','s1','My sister Ana moved to Bergen in May 2023.','271b8e56f79a1297cdda9da9110418e5','{"n": 0}',NULL,1714640400000000,1714644000000000,NULL,'active',1,'{"information": 87.99409189959988, "parts": {"information": -0.1719019364655142, "memory": -0.10829657366691293, "salience": 2.848470143747514, "surprise": 0.5}, "reason": "written: cues of a fact and unexpected wording (score 3.07, threshold -0.20)", "rule": "composition", "score": 3.068271633615087, "surprise": 2.080280800923965, "threshold": -0.2, "write": true}','{"code_share": 0.0, "mean": 2.080280800923965, "memory_nats": 243.98780755710075, "nats": 87.99409189959988, "repeat": false, "salience": 0.945239548673739, "script": "latin", "tokens": 43}',1,0.945239548673739,1.0,0);
INSERT INTO "episodes" VALUES(2,'ec83f96913ed17d183496cbaa69c4394','ada',NULL,NULL,'9266e2402169be96d9196b48fd8ccbc3',1,'assistant',NULL,'s1','ok','6e1931fadba811e9d8ef0d17185e403f','{"n": 1}',NULL,1714640460000000,1714644000000000,NULL,'active',0,'{"information": 15.27007007598877, "parts": {"information": -0.2, "memory": -0.6, "salience": -0.3465735902799724, "surprise": 0.5}, "reason": "deferred: little that memory lacks and small talk or a question (score -0.65, threshold -0.20)", "rule": "composition", "score": -0.6465735902799724, "surprise": 7.471682071685791, "threshold": -0.2, "write": false}','{"code_share": 0.0, "mean": 7.471682071685791, "memory_nats": 22.18070977791825, "nats": 15.27007007598877, "repeat": false, "salience": 0.4142135623730951, "script": "latin", "tokens": 3}',0,4.14213562373095089963e-01,1.0,0);
INSERT INTO "episodes" VALUES(3,'cdc4b4ff6de3ae6b9548e158da317cb9','ada',NULL,NULL,'9266e2402169be96d9196b48fd8ccbc3',2,'user','Kim','s1','I live in Kyoto and I work as a carpenter.','9cc7306b58037268a14614e59b257c29','{"n": 2}',NULL,1714640520000000,1714644000000000,NULL,'active',1,'{"information": 85.77784414915368, "parts": {"information": -0.1276988040170614, "memory": -0.10486570888084192, "salience": 1.6649083366817041, "surprise": 0.10780836867930804}, "reason": "written: cues of a fact and unexpected wording (score 1.54, threshold -0.20)", "rule": "composition", "score": 1.5401521924631087, "surprise": 2.0383064515433857, "threshold": -0.2, "write": true}','{"code_share": 0.0, "mean": 2.0383064515433857, "memory_nats": 221.8070977791825, "nats": 85.77784414915368, "repeat": false, "salience": 0.8408957890279761, "script": "latin", "tokens": 43}',1,8.40895789027976126028e-01,1.0,0);
INSERT INTO "episodes" VALUES(4,'2c587043f7e8c3dded08b7f10b7f2c36','ada',NULL,NULL,'9266e2402169be96d9196b48fd8ccbc3',3,'assistant',NULL,'s1','haha','ee2eaa8664de6a377d1485999a47ef4c','{"n": 3}',NULL,1714640580000000,1714644000000000,NULL,'active',0,'{"information": 25.157176613807678, "parts": {"information": -0.2, "memory": -0.6, "salience": -0.3465735902799724, "surprise": 0.5}, "reason": "deferred: little that memory lacks and small talk or a question (score -0.65, threshold -0.20)", "rule": "composition", "score": -0.6465735902799724, "surprise": 6.4706053018569945, "threshold": -0.2, "write": false}','{"code_share": 0.0, "mean": 6.4706053018569945, "memory_nats": 33.27106466687737, "nats": 25.157176613807678, "repeat": false, "salience": 0.4142135623730951, "script": "latin", "tokens": 5}',0,4.14213562373095089963e-01,1.0,0);
INSERT INTO "episodes" VALUES(5,'4692b84fd4882af4024d12995e585b20','ada',NULL,NULL,'9266e2402169be96d9196b48fd8ccbc3',4,'user','Kim','s1','我上个月搬到了成都。','dd889bfcdfe877c71a16507bb4a91bac','{"n": 4}',NULL,1714640640000000,1714644000000000,NULL,'active',1,'{"information": 75.93256089853821, "parts": {"information": -0.1914726886416496, "memory": -0.2843342720677841, "salience": 1.5942385152878737, "surprise": -0.2}, "reason": "written: cues of a fact (score 0.92, threshold -0.20)", "rule": "composition", "score": 0.9184315545784401, "surprise": 2.488756455967368, "threshold": -0.2, "write": true}','{"code_share": 0.0, "mean": 2.488756455967368, "memory_nats": 194.08121055678467, "nats": 75.93256089853821, "repeat": false, "salience": 0.8312115970951023, "script": "cjk", "tokens": 31}',1,8.31211597095102283638e-01,1.0,0);
INSERT INTO "episodes" VALUES(6,'b46a1dbe06b1ee44da2f27d971ef79b4','ada',NULL,NULL,'9266e2402169be96d9196b48fd8ccbc3',5,'assistant',NULL,'s1','Remember: the spare key is under the blue flowerpot.','af943d258336f2732c7b53a1539b9b1f','{"n": 5}',NULL,1714640700000000,1714644000000000,NULL,'active',1,'{"information": 98.02214930858463, "parts": {"information": -0.06562926847916312, "memory": 0.1440093409140352, "salience": 0.0, "surprise": 0.04238233710551337}, "reason": "written: new to memory (score 0.12, threshold -0.20)", "rule": "composition", "score": 0.12076240954038545, "surprise": 1.8955388381058034, "threshold": -0.2, "write": true}','{"code_share": 0.0, "mean": 1.8955388381058034, "memory_nats": 282.80404966845765, "nats": 98.02214930858463, "repeat": false, "salience": 0.5, "script": "latin", "tokens": 53}',1,0.5,1.0,0);
INSERT INTO "episodes" VALUES(7,'137ddb156d8f18a843e6d653cd2c2e93','ada',NULL,NULL,'9266e2402169be96d9196b48fd8ccbc3',6,'user','Kim','s1','I no longer live in Kyoto, I moved from Kyoto to Porto in April 2024.','e2b39dba75dbfd997795432bb6ebd12b','{"n": 6}',NULL,1714640760000000,1714644000000000,NULL,'active',1,'{"information": 115.8427292604174, "parts": {"information": -0.015998025635738027, "memory": 0.022807438502549102, "salience": 3.157562873344799, "surprise": 0.0066258183347902766}, "reason": "written: cues of a fact (score 3.17, threshold -0.20)", "rule": "composition", "score": 3.1709981045464004, "surprise": 1.6640701386175352, "threshold": -0.2, "write": true}','{"code_share": 0.0, "mean": 1.6640701386175352, "memory_nats": 243.98780755710075, "nats": 115.8427292604174, "repeat": false, "salience": 0.9592056879856841, "script": "latin", "tokens": 70}',1,9.59205687985684063434e-01,1.0,0);
INSERT INTO "episodes" VALUES(8,'abc80b0c1347d2f94d1015104b915982','ada',NULL,NULL,'9266e2402169be96d9196b48fd8ccbc3',7,'user','Kim','s1','My favourite colour is blue, it was red before.','6f5ec55a1329a955ad72d1fb460facb9','{"n": 7}',NULL,1714640820000000,1714644000000000,NULL,'active',1,'{"information": 37.599957573693246, "parts": {"information": -0.2, "memory": -0.40770619357502225, "salience": 0.8317766166719345, "surprise": -0.042900923232757265}, "reason": "written: cues of a fact (score 0.18, threshold -0.20)", "rule": "composition", "score": 0.18116949986415498, "surprise": 1.3428556276319017, "threshold": -0.2, "write": true}','{"code_share": 0.0, "mean": 1.3428556276319017, "memory_nats": 144.1746135564686, "nats": 37.599957573693246, "repeat": false, "salience": 0.6967304549770724, "script": "latin", "tokens": 28}',1,6.96730454977072422018e-01,1.0,0);
INSERT INTO "episodes" VALUES(9,'e45af7afaf3b50595cdd6ffa952885ec','bob','cook',NULL,'3430147260cedebab1805b6d4479f21c',0,'user',NULL,NULL,'My dog Miso was born in Porto in 2019.','9a9d3e9608264a41c64a0e70f2f7597d','{}',NULL,1714640400000000,1714644000000000,NULL,'active',1,'{"information": 90.06936491653323, "parts": {"information": -0.16342542008293134, "memory": -0.29068785921853046, "salience": 2.420803531845907, "surprise": 0.5}, "reason": "written: cues of a fact and unexpected wording (score 2.47, threshold -0.20)", "rule": "composition", "score": 2.466690252544445, "surprise": 2.470715691168339, "threshold": -0.2, "write": true}','{"code_share": 0.0, "mean": 2.470715691168339, "memory_nats": 205.1715654457438, "nats": 90.06936491653323, "repeat": false, "salience": 0.9183999826323695, "script": "latin", "tokens": 39}',0,9.18399982632369549229e-01,1.0,0);
INSERT INTO "episodes" VALUES(10,'e261951d42dca16eb8108ceacabdec70','bob','cook',NULL,'3430147260cedebab1805b6d4479f21c',1,'user',NULL,NULL,'thanks','acf02ee68ee499111d6d217c28bc699e','{}',NULL,1714640400000000,1714644000000000,NULL,'active',0,'{"information": 18.134037896990776, "parts": {"information": -0.2, "memory": -0.6, "salience": -0.3465735902799724, "surprise": 0.5}, "reason": "deferred: little that memory lacks and small talk or a question (score -0.65, threshold -0.20)", "rule": "composition", "score": -0.6465735902799724, "surprise": 2.9491489848920276, "threshold": -0.2, "write": false}','{"code_share": 0.0, "mean": 2.9491489848920276, "memory_nats": 44.3614195558365, "nats": 18.134037896990776, "repeat": false, "salience": 0.4142135623730951, "script": "latin", "tokens": 7}',0,4.14213562373095089963e-01,1.0,0);
INSERT INTO "episodes" VALUES(11,'4dbb4a03593f71eaed65c8eb31a451f3','bob','cook',NULL,'3430147260cedebab1805b6d4479f21c',2,'user',NULL,NULL,'ok','6e1931fadba811e9d8ef0d17185e403f','{}',NULL,1714640400000000,1714644000000000,NULL,'active',0,'{"information": 15.448782920837402, "parts": {"information": -0.2, "memory": -0.6, "salience": -0.3465735902799724, "surprise": 0.5}, "reason": "deferred: little that memory lacks and small talk or a question (score -0.65, threshold -0.20)", "rule": "composition", "score": -0.6465735902799724, "surprise": 6.677061398824056, "threshold": -0.2, "write": false}','{"code_share": 0.0, "mean": 6.677061398824056, "memory_nats": 22.18070977791825, "nats": 15.448782920837402, "repeat": false, "salience": 0.4142135623730951, "script": "latin", "tokens": 3}',0,4.14213562373095089963e-01,1.0,0);
INSERT INTO "episodes" VALUES(12,'7bda28fe0d41e4b322aa5062ca880ef9','ada',NULL,NULL,'9266e2402169be96d9196b48fd8ccbc3',8,'user',NULL,NULL,'My cousin Piet moved to Delft in March.','da777e2732591bb5acd1ce5fd4f7262c','{}',NULL,NULL,1795364297983501,NULL,'active',1,'{"information": 76.77158170752227, "parts": {"information": -0.2, "memory": -0.3596758132709646, "salience": 2.5646445680717957, "surprise": 0.5}, "reason": "written: cues of a fact and unexpected wording (score 2.50, threshold -0.20)", "rule": "composition", "score": 2.504968754800831, "surprise": 1.9192895426880567, "threshold": -0.2, "write": true}','{"answers": false, "bytewise": true, "code_share": 0.0, "learned": null, "mean": 1.9192895426880567, "memory_nats": 155.26496844542774, "nats": 76.77158170752227, "nearest": 0.1932, "news": null, "repeat": false, "salience": 0.9285512103078052, "script": "latin", "tokens": 40}',0,9.28551210307805185983e-01,1.0,0);
CREATE TABLE "fact_namespaces" (
	id TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	agent_id TEXT, 
	PRIMARY KEY (id), 
	FOREIGN KEY(user_id) REFERENCES users (user_id)
);
INSERT INTO "fact_namespaces" VALUES('afb4860e959ad1a55d8b027e23640739','ada',NULL);
INSERT INTO "fact_namespaces" VALUES('b372b656b46b4749432dabf86231586c','bob','cook');
CREATE TABLE fact_sources (
	fact_seq BIGINT NOT NULL, 
	statement_seq BIGINT NOT NULL, 
	user_id TEXT NOT NULL, 
	PRIMARY KEY (fact_seq, statement_seq), 
	FOREIGN KEY(fact_seq) REFERENCES facts (seq), 
	FOREIGN KEY(statement_seq) REFERENCES statements (seq)
)
 WITHOUT ROWID

;
CREATE TABLE facts (
	seq BIGINT NOT NULL, 
	id TEXT NOT NULL, 
	namespace TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	relation TEXT NOT NULL, 
	topic TEXT NOT NULL, 
	object TEXT NOT NULL, 
	object_key TEXT NOT NULL, 
	valid_from BIGINT, 
	valid_to BIGINT, 
	status TEXT NOT NULL, 
	archived_by TEXT NOT NULL, 
	confidence FLOAT NOT NULL, 
	strength INTEGER NOT NULL, 
	sequence INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	recorded_at BIGINT NOT NULL, 
	retired_at BIGINT, 
	ended INTEGER, 
	PRIMARY KEY (seq), 
	FOREIGN KEY(namespace) REFERENCES "fact_namespaces" (id)
);
CREATE TABLE hierarchies (
	id TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	agent_id TEXT, 
	version BIGINT NOT NULL, 
	next_ids TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(user_id) REFERENCES users (user_id)
);
INSERT INTO "hierarchies" VALUES('2192ae3854f5ec1a0aa0730960979187','ada',NULL,4,'[13, 7, 3]');
CREATE TABLE history (
	seq BIGINT NOT NULL, 
	user_id TEXT NOT NULL, 
	episode_seq BIGINT NOT NULL, 
	event TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	old_text TEXT, 
	new_text TEXT, 
	reason TEXT, 
	PRIMARY KEY (seq), 
	FOREIGN KEY(episode_seq) REFERENCES episodes (seq)
);
INSERT INTO "history" VALUES(1,'ada',8,'UPDATE',1714647600000000,'My favourite colour is red.','My favourite colour is blue, it was red before.',NULL);
CREATE TABLE jobs (
	seq BIGINT NOT NULL, 
	user_id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	lane TEXT NOT NULL, 
	episode_seq BIGINT, 
	state TEXT NOT NULL, 
	attempts INTEGER NOT NULL, 
	error TEXT, 
	PRIMARY KEY (seq), 
	UNIQUE (kind, episode_seq), 
	FOREIGN KEY(episode_seq) REFERENCES episodes (seq)
);
INSERT INTO "jobs" VALUES(16,'bob','extract','3430147260cedebab1805b6d4479f21c',9,'queued',0,NULL);
INSERT INTO "jobs" VALUES(17,'ada','extract','9266e2402169be96d9196b48fd8ccbc3',1,'queued',0,NULL);
INSERT INTO "jobs" VALUES(18,'ada','extract','9266e2402169be96d9196b48fd8ccbc3',3,'queued',0,NULL);
INSERT INTO "jobs" VALUES(19,'ada','extract','9266e2402169be96d9196b48fd8ccbc3',5,'queued',0,NULL);
INSERT INTO "jobs" VALUES(20,'ada','extract','9266e2402169be96d9196b48fd8ccbc3',6,'queued',0,NULL);
INSERT INTO "jobs" VALUES(21,'ada','extract','9266e2402169be96d9196b48fd8ccbc3',7,'queued',0,NULL);
INSERT INTO "jobs" VALUES(22,'ada','extract','9266e2402169be96d9196b48fd8ccbc3',8,'queued',0,NULL);
INSERT INTO "jobs" VALUES(23,'ada','extract','9266e2402169be96d9196b48fd8ccbc3',12,'queued',0,NULL);
CREATE TABLE links (
	hierarchy_id TEXT NOT NULL, 
	level INTEGER NOT NULL, 
	a BIGINT NOT NULL, 
	b BIGINT NOT NULL, 
	user_id TEXT NOT NULL, 
	weight FLOAT NOT NULL, 
	persona_a BIGINT NOT NULL, 
	persona_b BIGINT NOT NULL, 
	cut BOOLEAN NOT NULL, 
	PRIMARY KEY (hierarchy_id, level, a, b), 
	FOREIGN KEY(hierarchy_id) REFERENCES hierarchies (id)
)
 WITHOUT ROWID

;
INSERT INTO "links" VALUES('2192ae3854f5ec1a0aa0730960979187',0,0,4,'ada',1.74888581037521362304e-01,0,4,0);
INSERT INTO "links" VALUES('2192ae3854f5ec1a0aa0730960979187',0,1,4,'ada',3.92902761697769165039e-01,1,7,0);
INSERT INTO "links" VALUES('2192ae3854f5ec1a0aa0730960979187',0,2,3,'ada',2.23038002848625183105e-01,2,3,0);
INSERT INTO "links" VALUES('2192ae3854f5ec1a0aa0730960979187',0,2,10,'ada',1.5444850921630859375e-01,2,10,0);
INSERT INTO "links" VALUES('2192ae3854f5ec1a0aa0730960979187',0,3,10,'ada',2.11140498518943786621e-01,3,10,0);
INSERT INTO "links" VALUES('2192ae3854f5ec1a0aa0730960979187',0,4,10,'ada',2.68249273300170898437e-01,11,12,0);
INSERT INTO "links" VALUES('2192ae3854f5ec1a0aa0730960979187',1,2,4,'ada',1.37176170945167541503e-01,0,1,0);
INSERT INTO "links" VALUES('2192ae3854f5ec1a0aa0730960979187',1,2,7,'ada',1.15871928632259368896e-01,0,3,0);
INSERT INTO "links" VALUES('2192ae3854f5ec1a0aa0730960979187',1,2,11,'ada',2.74291396141052246093e-01,0,6,0);
INSERT INTO "links" VALUES('2192ae3854f5ec1a0aa0730960979187',1,4,7,'ada',2.94428020715713500976e-01,1,3,0);
INSERT INTO "links" VALUES('2192ae3854f5ec1a0aa0730960979187',1,4,11,'ada',2.30211943387985229492e-01,1,6,0);
INSERT INTO "links" VALUES('2192ae3854f5ec1a0aa0730960979187',1,7,11,'ada',2.90131270885467529296e-01,3,6,0);
CREATE TABLE memory_records (
	episode_seq BIGINT NOT NULL, 
	user_id TEXT NOT NULL, 
	type TEXT NOT NULL, 
	sentiment TEXT, 
	resolution TEXT NOT NULL, 
	PRIMARY KEY (episode_seq), 
	FOREIGN KEY(episode_seq) REFERENCES episodes (seq)
);
CREATE TABLE meta (
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "meta" VALUES('embedder_fingerprint','hash-256 v1');
CREATE TABLE node_units (
	hierarchy_id TEXT NOT NULL, 
	level INTEGER NOT NULL, 
	number BIGINT NOT NULL, 
	unit_seq BIGINT NOT NULL, 
	user_id TEXT NOT NULL, 
	PRIMARY KEY (hierarchy_id, level, number, unit_seq), 
	FOREIGN KEY(hierarchy_id) REFERENCES hierarchies (id), 
	FOREIGN KEY(unit_seq) REFERENCES units (seq)
)
 WITHOUT ROWID

;
INSERT INTO "node_units" VALUES('2192ae3854f5ec1a0aa0730960979187',0,0,1,'ada');
INSERT INTO "node_units" VALUES('2192ae3854f5ec1a0aa0730960979187',0,1,3,'ada');
INSERT INTO "node_units" VALUES('2192ae3854f5ec1a0aa0730960979187',0,2,5,'ada');
INSERT INTO "node_units" VALUES('2192ae3854f5ec1a0aa0730960979187',0,3,6,'ada');
INSERT INTO "node_units" VALUES('2192ae3854f5ec1a0aa0730960979187',0,4,7,'ada');
INSERT INTO "node_units" VALUES('2192ae3854f5ec1a0aa0730960979187',0,10,20,'ada');
INSERT INTO "node_units" VALUES('2192ae3854f5ec1a0aa0730960979187',1,2,23,'ada');
INSERT INTO "node_units" VALUES('2192ae3854f5ec1a0aa0730960979187',1,4,15,'ada');
INSERT INTO "node_units" VALUES('2192ae3854f5ec1a0aa0730960979187',1,7,17,'ada');
INSERT INTO "node_units" VALUES('2192ae3854f5ec1a0aa0730960979187',1,11,24,'ada');
INSERT INTO "node_units" VALUES('2192ae3854f5ec1a0aa0730960979187',2,6,25,'ada');
CREATE TABLE nodes (
	hierarchy_id TEXT NOT NULL, 
	level INTEGER NOT NULL, 
	number BIGINT NOT NULL, 
	user_id TEXT NOT NULL, 
	PRIMARY KEY (hierarchy_id, level, number), 
	FOREIGN KEY(hierarchy_id) REFERENCES hierarchies (id)
)
 WITHOUT ROWID

;
INSERT INTO "nodes" VALUES('2192ae3854f5ec1a0aa0730960979187',0,0,'ada');
INSERT INTO "nodes" VALUES('2192ae3854f5ec1a0aa0730960979187',0,1,'ada');
INSERT INTO "nodes" VALUES('2192ae3854f5ec1a0aa0730960979187',0,2,'ada');
INSERT INTO "nodes" VALUES('2192ae3854f5ec1a0aa0730960979187',0,3,'ada');
INSERT INTO "nodes" VALUES('2192ae3854f5ec1a0aa0730960979187',0,4,'ada');
INSERT INTO "nodes" VALUES('2192ae3854f5ec1a0aa0730960979187',0,10,'ada');
INSERT INTO "nodes" VALUES('2192ae3854f5ec1a0aa0730960979187',1,2,'ada');
INSERT INTO "nodes" VALUES('2192ae3854f5ec1a0aa0730960979187',1,4,'ada');
INSERT INTO "nodes" VALUES('2192ae3854f5ec1a0aa0730960979187',1,7,'ada');
INSERT INTO "nodes" VALUES('2192ae3854f5ec1a0aa0730960979187',1,11,'ada');
INSERT INTO "nodes" VALUES('2192ae3854f5ec1a0aa0730960979187',2,6,'ada');
CREATE TABLE personas (
	hierarchy_id TEXT NOT NULL, 
	level INTEGER NOT NULL, 
	id BIGINT NOT NULL, 
	user_id TEXT NOT NULL, 
	node BIGINT NOT NULL, 
	label BIGINT NOT NULL, 
	PRIMARY KEY (hierarchy_id, level, id), 
	FOREIGN KEY(hierarchy_id) REFERENCES hierarchies (id)
)
 WITHOUT ROWID

;
INSERT INTO "personas" VALUES('2192ae3854f5ec1a0aa0730960979187',0,0,'ada',0,4);
INSERT INTO "personas" VALUES('2192ae3854f5ec1a0aa0730960979187',0,1,'ada',1,7);
INSERT INTO "personas" VALUES('2192ae3854f5ec1a0aa0730960979187',0,2,'ada',2,2);
INSERT INTO "personas" VALUES('2192ae3854f5ec1a0aa0730960979187',0,3,'ada',3,2);
INSERT INTO "personas" VALUES('2192ae3854f5ec1a0aa0730960979187',0,4,'ada',4,4);
INSERT INTO "personas" VALUES('2192ae3854f5ec1a0aa0730960979187',0,7,'ada',4,7);
INSERT INTO "personas" VALUES('2192ae3854f5ec1a0aa0730960979187',0,10,'ada',10,2);
INSERT INTO "personas" VALUES('2192ae3854f5ec1a0aa0730960979187',0,11,'ada',4,11);
INSERT INTO "personas" VALUES('2192ae3854f5ec1a0aa0730960979187',0,12,'ada',10,11);
INSERT INTO "personas" VALUES('2192ae3854f5ec1a0aa0730960979187',1,0,'ada',2,6);
INSERT INTO "personas" VALUES('2192ae3854f5ec1a0aa0730960979187',1,1,'ada',4,6);
INSERT INTO "personas" VALUES('2192ae3854f5ec1a0aa0730960979187',1,3,'ada',7,6);
INSERT INTO "personas" VALUES('2192ae3854f5ec1a0aa0730960979187',1,6,'ada',11,6);
INSERT INTO "personas" VALUES('2192ae3854f5ec1a0aa0730960979187',2,2,'ada',6,2);
CREATE TABLE postings (
	user_id TEXT NOT NULL, 
	term TEXT NOT NULL, 
	unit_seq BIGINT NOT NULL, 
	tf INTEGER NOT NULL, 
	PRIMARY KEY (user_id, term, unit_seq), 
	FOREIGN KEY(unit_seq) REFERENCES units (seq)
)
 WITHOUT ROWID

;
INSERT INTO "postings" VALUES('ada','2023',1,1);
INSERT INTO "postings" VALUES('ada','2023',9,1);
INSERT INTO "postings" VALUES('ada','2023',15,1);
INSERT INTO "postings" VALUES('ada','2023',25,1);
INSERT INTO "postings" VALUES('ada','2024',7,1);
INSERT INTO "postings" VALUES('ada','2024',11,1);
INSERT INTO "postings" VALUES('ada','2024',12,1);
INSERT INTO "postings" VALUES('ada','2024',15,1);
INSERT INTO "postings" VALUES('ada','2024',17,1);
INSERT INTO "postings" VALUES('ada','2024',24,1);
INSERT INTO "postings" VALUES('ada','2024',25,1);
INSERT INTO "postings" VALUES('ada','5',30,1);
INSERT INTO "postings" VALUES('ada','ana',1,1);
INSERT INTO "postings" VALUES('ada','ana',9,1);
INSERT INTO "postings" VALUES('ada','ana',15,1);
INSERT INTO "postings" VALUES('ada','ana',25,1);
INSERT INTO "postings" VALUES('ada','april',7,1);
INSERT INTO "postings" VALUES('ada','april',11,1);
INSERT INTO "postings" VALUES('ada','april',12,1);
INSERT INTO "postings" VALUES('ada','april',15,1);
INSERT INTO "postings" VALUES('ada','april',17,1);
INSERT INTO "postings" VALUES('ada','april',24,1);
INSERT INTO "postings" VALUES('ada','april',25,1);
INSERT INTO "postings" VALUES('ada','bergen',1,1);
INSERT INTO "postings" VALUES('ada','bergen',9,1);
INSERT INTO "postings" VALUES('ada','bergen',15,1);
INSERT INTO "postings" VALUES('ada','bergen',25,1);
INSERT INTO "postings" VALUES('ada','blue',6,1);
INSERT INTO "postings" VALUES('ada','blue',20,1);
INSERT INTO "postings" VALUES('ada','blue',22,1);
INSERT INTO "postings" VALUES('ada','blue',23,2);
INSERT INTO "postings" VALUES('ada','blue',24,1);
INSERT INTO "postings" VALUES('ada','blue',25,2);
INSERT INTO "postings" VALUES('ada','carpent',3,1);
INSERT INTO "postings" VALUES('ada','carpent',10,1);
INSERT INTO "postings" VALUES('ada','carpent',17,1);
INSERT INTO "postings" VALUES('ada','carpent',25,1);
INSERT INTO "postings" VALUES('ada','colour',20,1);
INSERT INTO "postings" VALUES('ada','colour',22,1);
INSERT INTO "postings" VALUES('ada','colour',23,1);
INSERT INTO "postings" VALUES('ada','colour',24,1);
INSERT INTO "postings" VALUES('ada','colour',25,1);
INSERT INTO "postings" VALUES('ada','cousin',29,1);
INSERT INTO "postings" VALUES('ada','delft',29,1);
INSERT INTO "postings" VALUES('ada','favourit',20,1);
INSERT INTO "postings" VALUES('ada','favourit',22,1);
INSERT INTO "postings" VALUES('ada','favourit',23,1);
INSERT INTO "postings" VALUES('ada','favourit',24,1);
INSERT INTO "postings" VALUES('ada','favourit',25,1);
INSERT INTO "postings" VALUES('ada','flowerpot',6,1);
INSERT INTO "postings" VALUES('ada','flowerpot',23,1);
INSERT INTO "postings" VALUES('ada','flowerpot',25,1);
INSERT INTO "postings" VALUES('ada','haha',4,1);
INSERT INTO "postings" VALUES('ada','key',6,1);
INSERT INTO "postings" VALUES('ada','key',23,1);
INSERT INTO "postings" VALUES('ada','key',25,1);
INSERT INTO "postings" VALUES('ada','kim',9,1);
INSERT INTO "postings" VALUES('ada','kim',10,1);
INSERT INTO "postings" VALUES('ada','kim',11,1);
INSERT INTO "postings" VALUES('ada','kim',12,1);
INSERT INTO "postings" VALUES('ada','kim',22,1);
INSERT INTO "postings" VALUES('ada','kyoto',3,1);
INSERT INTO "postings" VALUES('ada','kyoto',7,2);
INSERT INTO "postings" VALUES('ada','kyoto',10,1);
INSERT INTO "postings" VALUES('ada','kyoto',12,2);
INSERT INTO "postings" VALUES('ada','kyoto',15,2);
INSERT INTO "postings" VALUES('ada','kyoto',17,3);
INSERT INTO "postings" VALUES('ada','kyoto',24,2);
INSERT INTO "postings" VALUES('ada','kyoto',25,3);
INSERT INTO "postings" VALUES('ada','live',3,1);
INSERT INTO "postings" VALUES('ada','live',7,1);
INSERT INTO "postings" VALUES('ada','live',10,1);
INSERT INTO "postings" VALUES('ada','live',12,1);
INSERT INTO "postings" VALUES('ada','live',15,1);
INSERT INTO "postings" VALUES('ada','live',17,2);
INSERT INTO "postings" VALUES('ada','live',24,1);
INSERT INTO "postings" VALUES('ada','live',25,2);
INSERT INTO "postings" VALUES('ada','longer',7,1);
INSERT INTO "postings" VALUES('ada','longer',12,1);
INSERT INTO "postings" VALUES('ada','longer',15,1);
INSERT INTO "postings" VALUES('ada','longer',17,1);
INSERT INTO "postings" VALUES('ada','longer',24,1);
INSERT INTO "postings" VALUES('ada','longer',25,1);
INSERT INTO "postings" VALUES('ada','march',29,1);
INSERT INTO "postings" VALUES('ada','may',1,1);
INSERT INTO "postings" VALUES('ada','may',9,1);
INSERT INTO "postings" VALUES('ada','may',15,1);
INSERT INTO "postings" VALUES('ada','may',25,1);
INSERT INTO "postings" VALUES('ada','move',1,1);
INSERT INTO "postings" VALUES('ada','move',7,1);
INSERT INTO "postings" VALUES('ada','move',9,1);
INSERT INTO "postings" VALUES('ada','move',12,1);
INSERT INTO "postings" VALUES('ada','move',15,2);
INSERT INTO "postings" VALUES('ada','move',17,1);
INSERT INTO "postings" VALUES('ada','move',24,1);
INSERT INTO "postings" VALUES('ada','move',25,2);
INSERT INTO "postings" VALUES('ada','move',29,1);
INSERT INTO "postings" VALUES('ada','ok',2,1);
INSERT INTO "postings" VALUES('ada','piet',29,1);
INSERT INTO "postings" VALUES('ada','porto',7,1);
INSERT INTO "postings" VALUES('ada','porto',12,1);
INSERT INTO "postings" VALUES('ada','porto',15,1);
INSERT INTO "postings" VALUES('ada','porto',17,1);
INSERT INTO "postings" VALUES('ada','porto',24,1);
INSERT INTO "postings" VALUES('ada','porto',25,1);
INSERT INTO "postings" VALUES('ada','red',20,1);
INSERT INTO "postings" VALUES('ada','red',22,1);
INSERT INTO "postings" VALUES('ada','red',23,1);
INSERT INTO "postings" VALUES('ada','red',24,1);
INSERT INTO "postings" VALUES('ada','red',25,1);
INSERT INTO "postings" VALUES('ada','rememb',6,1);
INSERT INTO "postings" VALUES('ada','rememb',23,1);
INSERT INTO "postings" VALUES('ada','rememb',25,1);
INSERT INTO "postings" VALUES('ada','sister',1,1);
INSERT INTO "postings" VALUES('ada','sister',9,1);
INSERT INTO "postings" VALUES('ada','sister',15,1);
INSERT INTO "postings" VALUES('ada','sister',25,1);
INSERT INTO "postings" VALUES('ada','spare',6,1);
INSERT INTO "postings" VALUES('ada','spare',23,1);
INSERT INTO "postings" VALUES('ada','spare',25,1);
INSERT INTO "postings" VALUES('ada','spoke',30,1);
INSERT INTO "postings" VALUES('ada','time',30,1);
INSERT INTO "postings" VALUES('ada','user',30,1);
INSERT INTO "postings" VALUES('ada','work',3,1);
INSERT INTO "postings" VALUES('ada','work',10,1);
INSERT INTO "postings" VALUES('ada','work',17,1);
INSERT INTO "postings" VALUES('ada','work',25,1);
INSERT INTO "postings" VALUES('ada','上个',5,1);
INSERT INTO "postings" VALUES('ada','上个',11,1);
INSERT INTO "postings" VALUES('ada','上个',23,1);
INSERT INTO "postings" VALUES('ada','上个',25,1);
INSERT INTO "postings" VALUES('ada','个月',5,1);
INSERT INTO "postings" VALUES('ada','个月',11,1);
INSERT INTO "postings" VALUES('ada','个月',23,1);
INSERT INTO "postings" VALUES('ada','个月',25,1);
INSERT INTO "postings" VALUES('ada','了成',5,1);
INSERT INTO "postings" VALUES('ada','了成',11,1);
INSERT INTO "postings" VALUES('ada','了成',23,1);
INSERT INTO "postings" VALUES('ada','了成',25,1);
INSERT INTO "postings" VALUES('ada','到了',5,1);
INSERT INTO "postings" VALUES('ada','到了',11,1);
INSERT INTO "postings" VALUES('ada','到了',23,1);
INSERT INTO "postings" VALUES('ada','到了',25,1);
INSERT INTO "postings" VALUES('ada','成',5,1);
INSERT INTO "postings" VALUES('ada','成',11,1);
INSERT INTO "postings" VALUES('ada','成',23,1);
INSERT INTO "postings" VALUES('ada','成',25,1);
INSERT INTO "postings" VALUES('ada','成都',5,1);
INSERT INTO "postings" VALUES('ada','成都',11,1);
INSERT INTO "postings" VALUES('ada','成都',23,1);
INSERT INTO "postings" VALUES('ada','成都',25,1);
INSERT INTO "postings" VALUES('ada','我上',5,1);
INSERT INTO "postings" VALUES('ada','我上',11,1);
INSERT INTO "postings" VALUES('ada','我上',23,1);
INSERT INTO "postings" VALUES('ada','我上',25,1);
INSERT INTO "postings" VALUES('ada','搬',5,1);
INSERT INTO "postings" VALUES('ada','搬',11,1);
INSERT INTO "postings" VALUES('ada','搬',23,1);
INSERT INTO "postings" VALUES('ada','搬',25,1);
INSERT INTO "postings" VALUES('ada','搬到',5,1);
INSERT INTO "postings" VALUES('ada','搬到',11,1);
INSERT INTO "postings" VALUES('ada','搬到',23,1);
INSERT INTO "postings" VALUES('ada','搬到',25,1);
INSERT INTO "postings" VALUES('ada','月',5,1);
INSERT INTO "postings" VALUES('ada','月',11,1);
INSERT INTO "postings" VALUES('ada','月',23,1);
INSERT INTO "postings" VALUES('ada','月',25,1);
INSERT INTO "postings" VALUES('ada','月搬',5,1);
INSERT INTO "postings" VALUES('ada','月搬',23,1);
INSERT INTO "postings" VALUES('ada','月搬',25,1);
INSERT INTO "postings" VALUES('bob','2019',26,1);
INSERT INTO "postings" VALUES('bob','3',31,1);
INSERT INTO "postings" VALUES('bob','born',26,1);
INSERT INTO "postings" VALUES('bob','dog',26,1);
INSERT INTO "postings" VALUES('bob','miso',26,1);
INSERT INTO "postings" VALUES('bob','ok',28,1);
INSERT INTO "postings" VALUES('bob','porto',26,1);
INSERT INTO "postings" VALUES('bob','spoke',31,1);
INSERT INTO "postings" VALUES('bob','thank',27,1);
INSERT INTO "postings" VALUES('bob','time',31,1);
INSERT INTO "postings" VALUES('bob','user',31,1);
CREATE TABLE profile (
	namespace TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	day TEXT NOT NULL, 
	sources TEXT NOT NULL, 
	PRIMARY KEY (namespace, number), 
	FOREIGN KEY(namespace) REFERENCES "fact_namespaces" (id)
);
CREATE TABLE recalls (
	episode_seq BIGINT NOT NULL, 
	user_id TEXT NOT NULL, 
	count INTEGER NOT NULL, 
	PRIMARY KEY (episode_seq), 
	FOREIGN KEY(episode_seq) REFERENCES episodes (seq)
);
CREATE TABLE record_entities (
	episode_seq BIGINT NOT NULL, 
	number INTEGER NOT NULL, 
	user_id TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	name TEXT NOT NULL, 
	PRIMARY KEY (episode_seq, number), 
	FOREIGN KEY(episode_seq) REFERENCES episodes (seq)
)
 WITHOUT ROWID

;
CREATE TABLE record_resolutions (
	episode_seq BIGINT NOT NULL, 
	by_seq BIGINT NOT NULL, 
	user_id TEXT NOT NULL, 
	PRIMARY KEY (episode_seq, by_seq), 
	FOREIGN KEY(episode_seq) REFERENCES episodes (seq), 
	FOREIGN KEY(by_seq) REFERENCES episodes (seq)
)
 WITHOUT ROWID

;
CREATE TABLE skills (
	seq BIGINT NOT NULL, 
	id TEXT NOT NULL, 
	namespace TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	"trigger" TEXT NOT NULL, 
	steps TEXT NOT NULL, 
	successes INTEGER NOT NULL, 
	failures INTEGER NOT NULL, 
	recorded_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	status TEXT NOT NULL, 
	PRIMARY KEY (seq), 
	FOREIGN KEY(namespace) REFERENCES "fact_namespaces" (id)
);
CREATE TABLE statements (
	seq BIGINT NOT NULL, 
	id TEXT NOT NULL, 
	namespace TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	episode_seq BIGINT NOT NULL, 
	start INTEGER NOT NULL, 
	"end" INTEGER NOT NULL, 
	subject TEXT NOT NULL, 
	subject_name TEXT NOT NULL, 
	relation TEXT NOT NULL, 
	topic TEXT NOT NULL, 
	object TEXT NOT NULL, 
	object_key TEXT NOT NULL, 
	replaces TEXT NOT NULL, 
	replaces_key TEXT NOT NULL, 
	negated BOOLEAN NOT NULL, 
	correction BOOLEAN NOT NULL, 
	past BOOLEAN NOT NULL, 
	valid_from BIGINT, 
	valid_to BIGINT, 
	said_at BIGINT NOT NULL, 
	speaker TEXT NOT NULL, 
	confidence FLOAT NOT NULL, 
	withdrawn BOOLEAN NOT NULL, 
	superseded BOOLEAN NOT NULL, 
	PRIMARY KEY (seq), 
	FOREIGN KEY(namespace) REFERENCES "fact_namespaces" (id), 
	FOREIGN KEY(episode_seq) REFERENCES episodes (seq)
);
CREATE TABLE streams (
	id TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	agent_id TEXT, 
	run_id TEXT, 
	source TEXT, 
	next_position INTEGER NOT NULL, 
	version BIGINT NOT NULL, 
	proxy_fingerprint TEXT, 
	proxy_state BLOB, 
	gate_state TEXT, 
	PRIMARY KEY (id), 
	FOREIGN KEY(user_id) REFERENCES users (user_id)
);
INSERT INTO "streams" VALUES('9266e2402169be96d9196b48fd8ccbc3','ada',NULL,NULL,NULL,9,2,'0461d0d6baba6f1c',X'3034363164306436626162613666316351010000D80F72BFAC03F4BED847ED3E6B18533E721AA5BF1D2BAC3EF2458ABDD286E6BDF5D3CCBE45E08E3F55445CBF8BFF5CBE73E61BBE5818F03E99888A40794BF9BE857C89BFAD885B3DCA5A50BFA7A5F23EA2D137BF350804BFE24DFE3E351029BEAB2EAFBE8F49D0BFE67D8CBFC1E0E1BFFC193CBEEF89443EA1DDA73F80240E3FCCB7963F5EA4B73E65DC323F927E5FBFCD1257BFB3697D3F16D71F3E9379023F616F57BFB96C25C0C2B191BC783EE03EB51E3F3FEA8C383EBA6B79BD3DCB443F0730B9BEC07FAA3D31203F3F5BE3303B1BB72A3FDBA07FBF74FC7D3F2B188B3D780E75C0471531BFAA2B5D3D7657F2BDEF8C093FB19D3FBF0E23E8BD5A991CBFF80B49BFA2230CBE35761FBF0D82603D65F4A73E0799C4BF7E028F3F254DAA3DF37B7CBE0127B9BE510F1EBFE67A833FB970C83EB21707BF264209BF3FD9CCBD63FEB8BE9C5CB7BEF6CA2BBEAB450D3F0F8F65BE787171BC738E6EBEFB8831BFB17B513D8F636ABFE6230DBF16A4B63EF14E403DD60B493F6C256DBF3DDFAFBE62EEABBDB4F9813FDEBE28BF020F033FFF97413F702C51BD9D624B3E04F2CB3DAD4850BCF4D6A3BE62A66CBF25117C3E03ACA3BECAC08BB951A8693E8CB64F3E182200BEAC7E42BBFDCED53C3753EFBEEBEC413E686D8C3E61E193BE6A8A9EBE4735AF3FECDA6ABF70E84BBED63B8CBE06AFBBBD37041D3E4852833BDBBBCC3E696501BE6D9852BF3D86CEBE1336B6BDBA8542BF5F630E3807E40D407232653C22D880BD84FEEABE5BAB5BBED3814D3E0CD807BF5E85FFBDF1FC84BE8B7F1ABEEF3054BC758DD53DF8A434BF61B190BDB23CAE3A59C7413E6B7F943EA6EB863E214E73BE82970CBEC164EEBC315D02BFB05BB5BEAF9DEBBE728AE63E5177BA3EE8F5F03E8A12F7BE343878BE5010213D589E103D3C494ABE066C8FBC5D63FE3D9C193DBCC8FF9DBDCE02C1BDA0DC95BE0DF07CBD20D38A3DBDD6213E527C49BD2415743E3253EBBD3AEAE5BD6154E9BD6D6D8A3D9DE3F0BBCC8405BE68463CBDE723183FFB2E07BD6143B73DE182183E6262143D0DF948BDC2A833BC923B95BD821C323F3E06953E29522B3F1A6E8F3E6277283F9711923E8A45273FD556993E4FAC223F3C278B3E5A3BAF44B356E5C0B356E5C077F087445485AA449D568C429D568C42D5F59B44954898441EC989421EC989425E8FA5442D868344F6F55A42F6F55A426F338E44A0B78544642A9342642A9342106093440A4D792073697374657220416E61206D6F76656420746F2042657267656E20696E204D617920323032332E0A6F6B0A49206C69766520696E204B796F746F20616E64204920776F726B20617320612063617270656E7465722E0A686168610AE68891E4B88AE4B8AAE69C88E690ACE588B0E4BA86E68890E983BDE380820A52656D656D6265723A20746865207370617265206B657920697320756E6465722074686520626C756520666C6F776572706F742E0A49206E6F206C6F6E676572206C69766520696E204B796F746F2C2049206D6F7665642066726F6D204B796F746F20746F20506F72746F20696E20417072696C20323032342E0A4D79206661766F757269746520636F6C6F757220697320626C75652C2069742077617320726564206265666F72652E0A4D7920636F7573696E2050696574206D6F76656420746F2044656C667420696E204D617263682E0A','{"series":{"cjk":{"information":[],"memory":[5.268276682587585],"surprise":[]},"latin":{"information":[4.340834541825718],"memory":[5.497118255016432,3.099222982218062,5.401808075212108,3.5046880903262263,5.644754253822497,5.497118255016432,4.9710251591196535,5.045133131273375],"surprise":[1.9192895426880567]}},"version":1}');
INSERT INTO "streams" VALUES('3430147260cedebab1805b6d4479f21c','bob','cook',NULL,NULL,3,1,NULL,NULL,'{"series":{"latin":{"information":[4.500580094771939,2.8977907190524284,2.7375302248904836],"memory":[5.323846533742396,3.7923701627780075,3.099222982218062],"surprise":[2.470715691168339,2.9491489848920276,6.677061398824056]}},"version":1}');
CREATE TABLE unit_changes (
	user_id TEXT NOT NULL, 
	generation BIGINT NOT NULL, 
	unit_seq BIGINT NOT NULL
);
CREATE TABLE unit_sources (
	unit_seq BIGINT NOT NULL, 
	episode_seq BIGINT NOT NULL, 
	user_id TEXT NOT NULL, 
	PRIMARY KEY (unit_seq, episode_seq), 
	FOREIGN KEY(unit_seq) REFERENCES units (seq), 
	FOREIGN KEY(episode_seq) REFERENCES episodes (seq)
)
 WITHOUT ROWID

;
INSERT INTO "unit_sources" VALUES(1,1,'ada');
INSERT INTO "unit_sources" VALUES(2,2,'ada');
INSERT INTO "unit_sources" VALUES(3,3,'ada');
INSERT INTO "unit_sources" VALUES(4,4,'ada');
INSERT INTO "unit_sources" VALUES(5,5,'ada');
INSERT INTO "unit_sources" VALUES(6,6,'ada');
INSERT INTO "unit_sources" VALUES(7,7,'ada');
INSERT INTO "unit_sources" VALUES(9,1,'ada');
INSERT INTO "unit_sources" VALUES(10,3,'ada');
INSERT INTO "unit_sources" VALUES(11,5,'ada');
INSERT INTO "unit_sources" VALUES(12,7,'ada');
INSERT INTO "unit_sources" VALUES(20,8,'ada');
INSERT INTO "unit_sources" VALUES(22,8,'ada');
INSERT INTO "unit_sources" VALUES(26,9,'bob');
INSERT INTO "unit_sources" VALUES(27,10,'bob');
INSERT INTO "unit_sources" VALUES(28,11,'bob');
INSERT INTO "unit_sources" VALUES(29,12,'ada');
CREATE TABLE unit_statements (
	unit_seq BIGINT NOT NULL, 
	statement_seq BIGINT NOT NULL, 
	user_id TEXT NOT NULL, 
	PRIMARY KEY (unit_seq, statement_seq), 
	FOREIGN KEY(unit_seq) REFERENCES units (seq), 
	FOREIGN KEY(statement_seq) REFERENCES statements (seq)
)
 WITHOUT ROWID

;
CREATE TABLE units (
	seq BIGINT NOT NULL, 
	id TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	agent_id TEXT, 
	run_id TEXT, 
	kind TEXT NOT NULL, 
	text TEXT NOT NULL, 
	stream_id TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	session TEXT, 
	role TEXT NOT NULL, 
	name TEXT, 
	start INTEGER NOT NULL, 
	"end" INTEGER NOT NULL, 
	length INTEGER NOT NULL, 
	occurred_at BIGINT NOT NULL, 
	expires_at BIGINT, 
	importance FLOAT NOT NULL, 
	status TEXT NOT NULL, 
	PRIMARY KEY (seq), 
	UNIQUE (id), 
	FOREIGN KEY(user_id) REFERENCES users (user_id)
);
INSERT INTO "units" VALUES(1,'2d17db39bcf9bbe9b4b57c0b17cb707f','ada',NULL,NULL,'chunk','My sister Ana moved to Bergen in May 2023.','9266e2402169be96d9196b48fd8ccbc3',0,'s1','user','Kim',0,42,6,1714640400000000,NULL,0.945239548673739,'active');
INSERT INTO "units" VALUES(2,'217560fcd3d42c61a2ece3d6ce7ce6c4','ada',NULL,NULL,'chunk','ok','9266e2402169be96d9196b48fd8ccbc3',1,'s1','assistant',NULL,0,2,1,1714640460000000,NULL,4.14213562373095089963e-01,'active');
INSERT INTO "units" VALUES(3,'3e59b86b485b0172c850af8445fa47b8','ada',NULL,NULL,'chunk','I live in Kyoto and I work as a carpenter.','9266e2402169be96d9196b48fd8ccbc3',2,'s1','user','Kim',0,42,4,1714640520000000,NULL,8.40895789027976126028e-01,'active');
INSERT INTO "units" VALUES(4,'9763f9743097076136ffdb81b6cd1e9c','ada',NULL,NULL,'chunk','haha','9266e2402169be96d9196b48fd8ccbc3',3,'s1','assistant',NULL,0,4,1,1714640580000000,NULL,4.14213562373095089963e-01,'active');
INSERT INTO "units" VALUES(5,'a4f7de798cda178e9dbdb97392574ad2','ada',NULL,NULL,'chunk','我上个月搬到了成都。','9266e2402169be96d9196b48fd8ccbc3',4,'s1','user','Kim',0,10,11,1714640640000000,NULL,8.31211597095102283638e-01,'active');
INSERT INTO "units" VALUES(6,'52da79b9178bc4badd50f3841340079e','ada',NULL,NULL,'chunk','Remember: the spare key is under the blue flowerpot.','9266e2402169be96d9196b48fd8ccbc3',5,'s1','assistant',NULL,0,52,5,1714640700000000,NULL,0.5,'active');
INSERT INTO "units" VALUES(7,'dc5e1e5944629208847c939d813f1c99','ada',NULL,NULL,'chunk','I no longer live in Kyoto, I moved from Kyoto to Porto in April 2024.','9266e2402169be96d9196b48fd8ccbc3',6,'s1','user','Kim',0,69,8,1714640760000000,NULL,9.59205687985684063434e-01,'active');
INSERT INTO "units" VALUES(9,'512b997394783f1c1bdeec93b15f8022','ada',NULL,NULL,'atomic_fact','Kim: My sister Ana moved to Bergen in May 2023.','9266e2402169be96d9196b48fd8ccbc3',0,'s1','user','Kim',0,47,7,1714640400000000,NULL,0.945239548673739,'active');
INSERT INTO "units" VALUES(10,'140c732f1c7fe9d0219ea4a91484b2b7','ada',NULL,NULL,'atomic_fact','Kim: I live in Kyoto and I work as a carpenter.','9266e2402169be96d9196b48fd8ccbc3',2,'s1','user','Kim',0,47,5,1714640520000000,NULL,8.40895789027976126028e-01,'active');
INSERT INTO "units" VALUES(11,'904cc5ab607000ffb0d5f71db94ce29b','ada',NULL,NULL,'atomic_fact','Kim: 我上个月 [April 2024]搬到了成都。','9266e2402169be96d9196b48fd8ccbc3',4,'s1','user','Kim',0,28,13,1714640640000000,NULL,8.31211597095102283638e-01,'active');
INSERT INTO "units" VALUES(12,'43277269a35a54395fa1ed19f4e1d8fc','ada',NULL,NULL,'atomic_fact','Kim: I no longer live in Kyoto, I moved from Kyoto to Porto in April 2024.','9266e2402169be96d9196b48fd8ccbc3',6,'s1','user','Kim',0,74,9,1714640760000000,NULL,9.59205687985684063434e-01,'active');
INSERT INTO "units" VALUES(15,'32720fde351848b1a36cd0201bf364af','ada',NULL,NULL,'summary','My sister Ana moved to Bergen in May 2023.
I no longer live in Kyoto, I moved from Kyoto to Porto in April 2024.','2192ae3854f5ec1a0aa0730960979187',1,'1.4','memory',NULL,0,112,14,1714640760000000,NULL,9.59205687985684063434e-01,'active');
INSERT INTO "units" VALUES(17,'dcae564e7e460483a6cb5dfa35837e27','ada',NULL,NULL,'summary','I live in Kyoto and I work as a carpenter.
I no longer live in Kyoto, I moved from Kyoto to Porto in April 2024.','2192ae3854f5ec1a0aa0730960979187',1,'1.7','memory',NULL,0,112,12,1714640760000000,NULL,9.59205687985684063434e-01,'active');
INSERT INTO "units" VALUES(20,'58d274a4554e67cf8eb7ee54894a88f3','ada',NULL,NULL,'chunk','My favourite colour is blue, it was red before.','9266e2402169be96d9196b48fd8ccbc3',7,'s1','user','Kim',0,47,4,1714640820000000,NULL,6.96730454977072422018e-01,'active');
INSERT INTO "units" VALUES(22,'06c00b48574851fcfd2e91b25ce944ff','ada',NULL,NULL,'atomic_fact','Kim: My favourite colour is blue, it was red before.','9266e2402169be96d9196b48fd8ccbc3',7,'s1','user','Kim',0,52,5,1714640820000000,NULL,6.96730454977072422018e-01,'active');
INSERT INTO "units" VALUES(23,'881581875cf77cf6165ad4cfb74493a5','ada',NULL,NULL,'summary','我上个月搬到了成都。
Remember: the spare key is under the blue flowerpot.
My favourite colour is blue, it was red before.','2192ae3854f5ec1a0aa0730960979187',1,'1.2','memory',NULL,0,111,20,1714640820000000,NULL,8.31211597095102283638e-01,'active');
INSERT INTO "units" VALUES(24,'a43d6f4d5e41e4fb430911b1f7a0a273','ada',NULL,NULL,'summary','I no longer live in Kyoto, I moved from Kyoto to Porto in April 2024.
My favourite colour is blue, it was red before.','2192ae3854f5ec1a0aa0730960979187',1,'1.11','memory',NULL,0,117,12,1714640820000000,NULL,9.59205687985684063434e-01,'active');
INSERT INTO "units" VALUES(25,'8863caca19ff3ab3f88c8422d3083a2f','ada',NULL,NULL,'summary','我上个月搬到了成都。
Remember: the spare key is under the blue flowerpot.
My favourite colour is blue, it was red before.
My sister Ana moved to Bergen in May 2023.
I no longer live in Kyoto, I moved from Kyoto to Porto in April 2024.
I live in Kyoto and I work as a carpenter.','2192ae3854f5ec1a0aa0730960979187',2,'2.6','memory',NULL,0,267,38,1714640820000000,NULL,9.59205687985684063434e-01,'active');
INSERT INTO "units" VALUES(26,'c7f38f1b50fbc497795784b4fed557a0','bob','cook',NULL,'chunk','My dog Miso was born in Porto in 2019.','3430147260cedebab1805b6d4479f21c',0,NULL,'user',NULL,0,38,5,1714640400000000,NULL,9.18399982632369549229e-01,'active');
INSERT INTO "units" VALUES(27,'730f40d6212ae8512c14e065786b1ab3','bob','cook',NULL,'chunk','thanks','3430147260cedebab1805b6d4479f21c',1,NULL,'user',NULL,0,6,1,1714640400000000,NULL,4.14213562373095089963e-01,'active');
INSERT INTO "units" VALUES(28,'9f20b57f800dc715e84ecfe1d63d852c','bob','cook',NULL,'chunk','ok','3430147260cedebab1805b6d4479f21c',2,NULL,'user',NULL,0,2,1,1714640400000000,NULL,4.14213562373095089963e-01,'active');
INSERT INTO "units" VALUES(29,'16984478596ee8d214589995e2abf4a7','ada',NULL,NULL,'chunk','My cousin Piet moved to Delft in March.','9266e2402169be96d9196b48fd8ccbc3',8,NULL,'user',NULL,0,39,5,1795364297983501,NULL,9.28551210307805185983e-01,'active');
INSERT INTO "units" VALUES(30,'64d7abae3c371e995a8bdb2b5a289c1c','ada',NULL,NULL,'insight','The user spoke 5 times.','e6d39072e446cfc07909cb7bbb2ebaf7',0,'e6d39072e446cfc07909cb7bbb2ebaf7','memory',NULL,0,23,4,1714640820000000,NULL,0.0,'active');
INSERT INTO "units" VALUES(31,'25b811a46daf3a9372431ae565260fd8','bob','cook',NULL,'insight','The user spoke 3 times.','930dad9e46846b0835a1bb715b585a8e',0,'930dad9e46846b0835a1bb715b585a8e','memory',NULL,0,23,4,1714640400000000,NULL,0.0,'active');
CREATE TABLE unresolved (
	namespace TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	relation TEXT NOT NULL, 
	topic TEXT NOT NULL, 
	PRIMARY KEY (namespace, subject, relation, topic), 
	FOREIGN KEY(namespace) REFERENCES "fact_namespaces" (id)
);
CREATE TABLE user_leases (
	user_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	owner TEXT, 
	until BIGINT NOT NULL, 
	done_at BIGINT, 
	PRIMARY KEY (user_id, name)
)
 WITHOUT ROWID

;
INSERT INTO "user_leases" VALUES('ada','asking',NULL,0,NULL);
INSERT INTO "user_leases" VALUES('ada','jobs',NULL,0,NULL);
INSERT INTO "user_leases" VALUES('ada','sleep',NULL,0,NULL);
INSERT INTO "user_leases" VALUES('bob','asking',NULL,0,NULL);
INSERT INTO "user_leases" VALUES('bob','jobs',NULL,0,NULL);
INSERT INTO "user_leases" VALUES('bob','sleep',NULL,0,NULL);
CREATE TABLE users (
	user_id TEXT NOT NULL, 
	generation BIGINT NOT NULL, 
	epoch BIGINT NOT NULL, 
	PRIMARY KEY (user_id)
);
INSERT INTO "users" VALUES('ada',9,3);
INSERT INTO "users" VALUES('bob',2,4);
CREATE TABLE vectors (
	unit_seq BIGINT NOT NULL, 
	user_id TEXT NOT NULL, 
	vector BLOB NOT NULL, 
	PRIMARY KEY (unit_seq), 
	FOREIGN KEY(unit_seq) REFERENCES units (seq)
);
INSERT INTO "vectors" VALUES(1,'ada',X'4B9C683DA9B756BC95901CBE0C258F3B61EE32BD4B9C68BDA6B756BC61EE32BDA9B7563D1A258F3C1A250FBCA9B756BCA6B7563C56C5CD3D61EE323D1B250FBEBE09A13D1C258FBD10FCA9BD1A258FBC56C5CDBD0000000056C5CDBD4C9C68BDF080FABC1D250FBC6D17983D58C5CDBDA9B7D6BC61EEB23161EEB23D1A258F3BEF80FA3CED80FABC6D1798BD4B9CE83D1D258F3B10FCA9BD15258F3BAAB756BC10FCA9BD4B9C683D17250F3CA6B756BC4B9C683D1A258F3C1A250F3DEF80FA3CA9B7D63CC93286BD61EEB2B01C250F3E1C250F3D6D17983DFAA9DFBDA9B7D6BC1A250F3CACB756BC4B9C68BDBF0921BD10FCA93D04D3443DF080FA3CA9B756BCA9B756BC10FCA9BD04D3C43D63EE32BD4B9CE8BDEF80FABC1B258F3DA6B7D6BC05D3C43D4B9C683D61EE32B14B9C68BD10FCA93D1D250FBC61EEB23DA3B7563C61EE32BD6B1798BD1A258FBDC932863D1D258F3BACB7D6BCEF807A3DEF807ABD61EE32BD1C258F3D95901CBEED80FABC61EE323DBE09213D61EE32B1A9B756BC56C5CDBD61EE32314B9CE8BD12258F3BBF09213DA6B756BCBF0921BDBE09213E1A258FBB1A258FBCBD0921BD61EE32B14B9C68BD63EE32BD4B9CE83DA7B756BC10FCA9BD61EE323DC009213DF080FABC61EE32BDAAB7D6BCA9B756BCA9B7D63CA9B7563C1A250F3C1A258F3B63EE32BD61EEB23DEF80FABC61EE32BD61EE32BD56C5CDBDBF09213DEF80FA3C0000000005D3C43D1A258FBD1B258FBDA9B756BCA1B901BE10FCA93DA6B7563CFAA9DF3DA9B7D63DC932863DA9B756BC4B9C68BD1A258FBCEF80FA3DED80FA3CAAB7563CBF0921BDA9B7D6BC19250FBDA9B7D63CBE0921BD56C5CD3D4B9CE8BDAAB756BCBF0921BDA9B756BC64EEB2BC1A258F3D4B9C68BD61EEB2BD1A258F3CA9B7563CFAA9DFBDF8A9DFBD17258F3B05D3443DA9B7D63CFBA9DFBD10FCA93DBE0921BDA7B7563C56C5CD3DBF09213DA9B7D63C20250F3CACB756BCF2AB0A3E4B9CE8BD1C258FBD439E13BE1B258F3C61EE32BD19258F3C61EEB2BD1C250F3D61EEB230A9B756BDBF0921BD95901C3E4B9C68BDF080FABCB3E0BB3DF0807ABD4B9C683DA9B7563CA3B756BCED80FABCA9B7D63CF080FABD10FCA93DA9B7D6BCF2AB0A3EC932863DBF0921BDAAB756BCAAB756BD9C8EF13D0C258FBB10FCA93D60EEB23CBF09A1BDBF0921BDBF0921BDA6B7D6BCEF80FA3C04D3C43D1A258F3D61EE323D61EE32BDAAB756BCBF09213D00000000A9B7D63C4B9C68BDA7B7D63D61EE323D61EE32BD61EEB2B01A250F3CAAB756BC1A258FBB1A258F3CF0807ABD61EE32BD61EE32BD61EE32BD63EE32BDC93286BD61EE32B14C9CE83D56C5CD3D61EE323110FCA93DA6B756BC56C5CD3D61EE32BD64EEB2BC61EE32BDACB756BC4B9C683D61EEB23D1B258F3D61EEB2BDA9B756BD');
INSERT INTO "vectors" VALUES(2,'ada',X'3BF469BD3BF469BD3BF4693DC829BB3C3BF4693DC929BB3DC829BB3C3BF469BD3BF469BDC929BBBDC829BBBCC929BB3DC829BBBCC929BBBD3BF4693DC929BB3DC929BB3D3BF469BDC829BB3C3BF4693D3BF4693DC829BBBC3BF4693D3BF469BD3BF469BD3BF4693D3BF469BD3BF4693D3BF469BD3BF469BDC929BBBDC829BBBCC929BBBDC829BBBCC929BB3DC829BB3C3BF4693DC929BBBDC829BBBCC929BB3DC929BB3D3BF4693DC829BB3C3BF469BDC829BBBCC929BBBD3BF4693DC929BB3D3BF4693D3BF469BD3BF469BDC829BB3CC929BB3D3BF4693D3BF469BDC829BB3C3BF4693DC929BBBDC829BB3CC929BBBD3BF4693DC829BB3CC829BBBC3BF469BDC829BBBCC829BBBC3BF469BD3BF4693DC929BBBDC829BB3CC829BB3C3BF469BDC829BB3CC929BBBDC929BB3D3BF469BD3BF4693D3BF4693DC929BB3DC829BBBCC829BB3CC829BB3C3BF469BD3BF4693DC929BBBD3BF4693DC929BB3D3BF469BDC829BB3CC829BB3C3BF4693DC829BB3C3BF469BDC929BBBDC829BB3CC929BBBD3BF4693D3BF469BDC829BBBCC829BB3CC829BBBCC829BB3CC829BB3C3BF4693D3BF469BDC929BBBDC929BBBD3BF469BD3BF4693DC829BB3CC929BBBDC929BBBDC829BBBC3BF469BD3BF4693D3BF469BDC929BB3DC829BBBCC829BB3C3BF469BDC829BB3C3BF4693DC929BB3D3BF469BDC929BBBD3BF4693D3BF4693DC829BB3CC829BB3C3BF469BD3BF4693D3BF4693DC829BB3CC829BB3CC829BBBCC929BB3D3BF469BD3BF4693D3BF469BD3BF469BDC929BBBDC829BB3CC929BB3DC929BB3DC929BB3DC929BBBDC929BBBDC829BBBCC829BB3CC929BBBD3BF469BDC929BBBD3BF4693DC829BB3CC829BBBCC929BB3DC929BB3D3BF469BD3BF469BDC929BB3D3BF4693DC929BBBD3BF4693DC829BBBC3BF4693D3BF4693D3BF469BD3BF469BD3BF4693D3BF469BD3BF469BDC929BB3DC829BBBC3BF469BD3BF469BD3BF4693D3BF4693D3BF469BD3BF469BD3BF4693D3BF469BD3BF4693DC829BBBCC929BB3D3BF4693DC929BB3DC929BB3DC829BBBCC929BB3DC829BB3C3BF4693D3BF469BDC829BBBC3BF469BDC929BBBD3BF469BD3BF4693DC929BBBD3BF4693DC929BB3D3BF4693DC929BB3DC929BB3D3BF4693DC929BB3DC929BB3D3BF4693DC829BBBCC829BBBC3BF469BD3BF4693D3BF469BD3BF4693D3BF469BD3BF469BD3BF469BDC929BBBDC829BB3CC829BB3CC929BB3DC929BBBDC929BB3D3BF469BD3BF4693DC929BBBDC929BBBD3BF469BDC929BBBD3BF469BD3BF469BDC929BBBD3BF469BDC829BB3CC829BB3CC829BBBC3BF469BDC929BBBD3BF4693D3BF469BD3BF4693D3BF469BD3BF4693DC829BB3C3BF469BD3BF469BDC829BBBC3BF469BDC929BBBDC829BB3C3BF469BDC829BB3CC929BB3DC829BBBCC929BBBDC829BBBC3BF4693D');
INSERT INTO "vectors" VALUES(3,'ada',X'FA2E4BBD7D3A0E3DFAD1F33CF6D1F3BC7880DF3D7A80DF3DBBB4AC3D78805F3D7C3A8E3D3A06C1BDF92E4BBD39A9E93DFAD1F3BC7D3A0E3DFAD173BCFAD1F3BCFA2E4B313A06C13D3B06C1BDFAD1733CF6D173BC7A80DF3DF92E4BBD7BDDB6BD7BDDB63DFA2ECBBDF8D173BCFAD173BDFB8BA2BC39A9E93DF6D1733CF18BA23BFA2ECB30FA2E4B3D7C3A8E3DFA2E4B3DBD11843DFA2E4BBDFA2E4BB1FAD173BCFA2E4BBDFAD1F33CFA2E4B3D7BDD363D3B06C1BDBC1104BE3A06C13DFDD173BCFAD1F3BC018C223CFC8B223CFB8BA23D7C3A0EBD7C3A8E3DFAD1F33CFA2E4BBD3A06C13D79DD363DFC8BA23DFC8BA23DFC8BA2BDFAD1F3BCFB8B223DF88BA23BF8D173BCFAD173BDFAD1F33CFA2E4BBDBD1104BEFB8BA2BBF8D173BCF8D1733DBBB4AC3DFAD1F3BC7D3A0EBDF6D1733CFA8BA23C7BDD363DFA2ECBBDFDD173BCBC11843DFB8BA23CFA2ECB30FC8B223CF6D173BCFF8B223CFC8BA23DFA2E4B3DFB8BA23CFC8BA2BDFA2E4BBDFAD1F3BCBD11843DFAD1F3BCFC8BA2BDFB8BA23CFC8B223EFC8BA23CF92ECB3CBC11043EBD11843D78805FBDBC11843DFA2E4B3DFA2E4BBD3A06C1BDFAD1F33CFA2E4BBDF8D173BCFC8BA2BCFA2E4B3D3C6398BDFDD173BC7CDD36BD7D3A0EBD7B3A0E3DFB8BA23D00000000F8D1733C000000000000000078805FBD7880DF3D000000007D3A0E3D7C3A8E3DDB4E133EF8D1733C7880DFBD7B3A0EBDBBB4ACBDFAD1F3BCFAD1F3BCFA2ECB3DBD11043EFB8BA23DFDD173BCFA2E4BBDFB8BA2BD7D3A0E3DFAD1F33CBC11843DBD1184BDFD2ECBBCFA2E4BBD7A80DFBDFC8BA23C7D3A0E3D39A9E93DFAD173BD3A06C13DFAD173BDFAD1733DFAD1F3BCFA2ECB3DFAD1F3BC7ADD363D7ADD36BDFA2E4B3D7A80DF3DF8D1733CFA2ECBB0F92E4B3DBD11843DFC8BA23DBD1184BD7ADD363DFA8BA23CFC8BA23C7D3A0E3E7D3A0EBD7ADD363D7A80DF3DFA2ECBB0FA2E4B3D7B3A0E3D3A06C1BDFAD1F33CFAD1733CF8D1733CFAD1F3BC39A9E93D7D3A0E3DF92E4B3DFC8BA23D7BDD36BDFE8B22BCFB8BA23B7ADD36BDFC8BA2BD7A80DFBD7B3A0E3DBC1184BD7CDD363DFA8BA2BCFA2ECBB0FB8BA23CFAD1F33CFAD173BD3C63983DF48BA23BBC11843DF8D173BC7BDD363DFC8BA2BDF88BA2BBBC1184BDB9FAFDBDFA2E4BBD3C06C13DFB8B223E7C805FBDF6D173BCFDD173BC7B3A0EBDBC1184BDFA2E4BBDF8D173BCF92ECB3CFAD173BDFC8B223CFA2ECB30FAD173BC7B3A0EBD78805F3DFB8BA23CFC8BA2BDF92ECB3DFAD1733CF8D173BCFC8BA2BDFDD1733CFC2E4BBD7ADD36BDFC8B223D7B3A0EBDFC8BA2BDFA2E4B3DFC8BA23DFA2ECB3D7A80DF3DFB8BA23CFAD173BD7B3A0E3D7CDD363D7D3A0EBD3B0641BEBC1184BDFA2ECB3CFC2E4BBD7CDD36BDFC8B22BEFB8BA2BC7B3A0EBDBC11843DF8D173BC');
INSERT INTO "vectors" VALUES(4,'ada',X'45DDAB3D45DDABBD96D4563D44DDAB3C96D456BD96D456BD96D456BD3F50ECBD45DDABBD96D4563D45DDAB3D44DDAB3C45DDAB3D47DD2B3C45DDAB3D3F50EC3D44DDABBC96D4563D3F50EC3D44DDAB3C45DDABBD96D4563D47DD2B3C44DDABBC45DDAB3D96D4563D96D4563D44DDAB3C96D4563D44DDAB3C96D4563D44DDAB3C3F50ECBD3F50ECBD3F50ECBD44DDAB3C96D456BD96D456BD96D4563D96D4563D44DDAB3C45DDABBD44DDAB3C96D456BD47DD2BBC44DDABBC3F50ECBD3F50EC3D44DDABBC45DDABBD44DDABBC3F50EC3D45DDABBD44DDAB3C96D456BD96D4563D3F50ECBD44DDAB3C96D456BD96D4563D96D4563D96D4563D47DD2B3C44DDABBC96D4563D44DDAB3C3F50EC3D44DDABBC96D456BD96D456BD96D4563D47DD2BBC44DDABBC96D4563D96D4563D45DDABBD96D456BD96D4563D96D456BD45DDABBD44DDABBC45DDAB3D44DDAB3C44DDABBC96D456BD45DDAB3D96D4563D44DDABBC45DDAB3D44DDABBC3F50EC3D47DD2B3C96D4563D96D4563D96D456BD96D456BD47DD2BBC44DDAB3C47DD2BBC45DDABBD96D4563D45DDABBD44DDABBC44DDABBC45DDABBD96D456BD45DDAB3D45DDABBD45DDAB3D44DDAB3C47DD2BBC45DDABBD44DDAB3C96D4563D45DDABBD45DDAB3D96D456BD44DDAB3C44DDABBC47DD2B3C45DDABBD44DDABBC44DDABBC45DDABBD44DDAB3C96D4563D45DDABBD45DDABBD96D456BD44DDABBC96D4563D44DDABBC96D4563D96D456BD44DDABBC47DD2B3C45DDAB3D47DD2B3C44DDAB3C96D4563D3F50ECBD96D456BD96D456BD44DDABBC44DDABBC96D456BD44DDABBC44DDABBC45DDAB3D96D4563D44DDABBC96D456BD45DDABBD47DD2B3C44DDABBC47DD2BBC44DDAB3C45DDAB3D44DDABBC44DDABBC47DD2B3C3F50EC3D45DDAB3D96D456BD96D456BD45DDABBD96D4563D96D4563D45DDABBD96D4563D96D456BD47DD2B3C96D456BD96D456BD96D4563D47DD2B3C44DDAB3C96D4563D45DDAB3D96D456BD96D4563D45DDAB3D44DDAB3C44DDAB3C96D4563D3F50ECBD3F50ECBD44DDABBC96D456BD45DDABBD45DDABBD3F50ECBD44DDAB3C44DDAB3C96D456BD44DDAB3C3F50ECBD44DDABBC96D4563D96D4563D45DDABBD47DD2BBC45DDABBD44DDAB3C45DDAB3D3F50ECBD45DDAB3D44DDABBC3F50EC3D96D4563D96D4563D3F50EC3D96D456BD45DDABBD45DDABBD96D4563D96D456BD45DDAB3D96D456BD45DDABBD96D4563D3F50ECBD44DDAB3C47DD2B3C45DDAB3D45DDAB3D96D4563D47DD2B3C44DDAB3C45DDAB3D45DDAB3D44DDAB3C45DDAB3D45DDAB3D47DD2B3C96D4563D3F50EC3D44DDAB3C96D456BD44DDAB3C45DDAB3D96D456BD44DDAB3C45DDABBD45DDAB3D45DDAB3D96D456BD3F50EC3D44DDAB3C44DDABBC45DDAB3D45DDAB3D44DDABBC96D456BD47DD2BBC44DDABBC');
INSERT INTO "vectors" VALUES(5,'ada',X'473CBB3C366D8C3DA83985BDC66C033E62A349BC453CBB3C61A3493C356D8C3D6FD308BD71D3083D0DD6BE3D183A0E3EDB07A23DC1A093BD20A56D3D70D3083D053E5FBD790AD8BC5FA3493C80A2B73D126E9EBCC3A0933D82A2B7BD356D8CBDD36F42BD473CBB3C22A56DBDBC0834BD6FD3083D41A4DB3D683BA93DABD8F43C473CBBBCD46F423D61A3493CF70610BC0DD6BEBDB271E63AA93985BD20A56D3DBC0834BD70D308BD7A0AD83CE19F813C356D8C3D893A173D893A173D146E9EBCE19F81BC390C7CBD9771E6BABFD423BE356D8C3D6FD308BDD36F42BDBB08343D846E27BE82A2B73D053E5FBD20A56D3DD36F423D356D8CBDD46F423DBB08343D590BEA3D0ED6BEBD473CBBBCEFD6503D52A00ABE356D8CBD62A349BCD36F423D473CBBBC893A17BDB370D4BD81A2B73D473CBBBC7A0AD8BC356D8C3D20A56DBD473CBBBC473CBBBC20A56DBD356D8C3DD46F423D693BA9BD9771E63AC2A093BD883A17BD0CD6BE3D356D8CBDC2A093BD063E5FBD3FA4DBBDA971E63A883A17BD473CBBBC493CBB3C073E5F3D6FD3083DBD08343DE39F813C063E5F3DBB08343DBA0834BDBB08343D273DCD3D356D8C3D9909C6BD176E9E3C22A56DBDBB08343D063E5F3D883A173D7A0AD83CE63EF1BD683BA9BDE63EF13D473CBBBC21A56DBD7C0AD8BC6FD3083D176E9EBCA939853D21A56DBDC56C03BEBA0834BDEDD650BDCCD7E2BDBB08343D9A09C63DD46F423D63A3493C8571E63A20A56DBD6FD308BD52A00A3ED36F42BDFD0610BCC2A093BD473CBB3C0DD6BEBD883A17BD780AD8BC62A3493CA0A125BD683BA9BDADD8F4BC0DD6BE3D346D8C3D63A349BC146E9EBC5EA349BCBED4233E483CBBBCBC08343DE19F813C453CBBBC20A56D3D6FD3083D000710BC053E5F3D6FD308BD473CBB3CFD0610BCF70610BC62A3493C380C7C3D590BEABD183A0EBEA2A125BDE29F81BCDB07A2BDDB07A23D356D8C3D0CD6BE3D7371E63A20A56DBD62A349BC63A349BC6ED3083D473CBBBCFD0610BC1DA56D3D473CBB3CBD0834BDADD8F43C683BA93DBA0834BD043E5FBD473CBBBC356D8C3DDB07A23D6B0719BE5DA3493C000710BCE19F813C62A349BCD76F42BD6FD308BDFEA5FF3DD46F423D473CBB3C6FD3083D366D8CBDB370D43D82A2B7BDD36F423D7C0AD8BC6FD3083DDB07A2BDE29F81BC61A3493C366D8C3D780AD83C356D8C3D893A17BD6FD3083DA971E6BAD36F42BDFC0610BCFA06103C883A173D473CBB3CD46F423DDB07A23DC2A093BD183A0EBED46F423D0DD6BE3D20A56DBDDA07A23D8A3A17BDD46F423DFEA5FF3D063E5F3DA971E63A6FD308BD20A56DBD20A56D3D493CBB3CD46F423DD46F423D53A00A3E893A17BD62A3493CD36F423D683BA93D893A173D9A09C6BDD46F423DD46F423D273DCDBDDD07A23D346D8CBDBB0834BD');
INSERT INTO "vectors" VALUES(6,'ada',X'6EB4DFBB04AB7BBD987E823CD558F23C74B4DFBB06AB7BBDBEAFED3D04AB7BBDA0C2B5BDBC6B3ABC1910CD3CF02215BB04AB7B3D1810CD3C12CC99BD7AB4DF3B2FB9D1BDA1C2B53D0167C8BDBEAFED3DB86B3A3CB86B3ABCD558F2BC6ECE123E11CC993D2A751EBD1910CD3CD558F23CA0C2B5BD06AB7BBD9A7E823C2FB9D13D2C751E3D8819313D6ECE12BE881931BD486256BDF622153BF022153BA606693DC9D00B3DA1C2B5BD6BB4DFBBA80669BD8919313D8919313DA1C2B53D11CC993D56C7A7BCA806693D486256BD1610CD3C4862563D06AB7BBD8F5DE43DF022153BE279903DD558F2BC1610CDBCA806693D9C7E82BC71B4DF3BD758F2BC06AB7BBD04AB7B3D11CC99BD2FB9D1BD04AB7B3D2A751E3D06AB7BBD891931BDE7BD433D022315BB56C7A7BCE27990BDB327873DC9D00B3D9B7E82BC8A1931BD1910CD3C11CC99BDF622153B3E7C093ECAD00BBD881931BDD758F2BCD558F2BC11CC99BDEE01F7BDEA2215BBA1C2B53D987E823CD014BFBD27D304BEE7BD433DC9D00B3D80B4DF3B80B4DFBB9A7E823CBFAFEDBD9A7E82BC411EA3BD905DE4BD3E7C09BED558F2BC881931BDA606693D891931BDD558F23CB227873D9B7E823C5C69413EA1C2B53DA60669BDE279903D04AB7BBDE47990BDA50669BD6ECE123ED558F2BCA0C2B5BD12CC99BDF02215BB06AB7BBDA0C2B53D11CC99BD9B7E82BCE7BD43BD04AB7B3D9B7E823CA50669BD2A751E3D9B7E82BC57C7A73CCAD00B3D0823153BFC22153BA606693DD558F2BC06AB7B3DF02215BB0823153BE7BD43BD9B7E82BCD558F23CD114BFBDB227873D1810CD3C11CC993D881931BDA1C2B5BDB56B3A3CF622153BF022153BE37990BDA80669BD11CC993DA80669BDD558F2BCD558F23CBB6B3ABC12CC993DE279903DA806693D1910CDBCD258F2BCCAD00BBD13CC99BD9B7E823C9B7E823CD758F23C9B7E823C2A751EBD9B7E823C9B7E823C9A7E82BCD558F23CEA22153B58C7A7BCD922153BD558F23C2A751E3D2A751EBD8819313D8919313D9A7E823CCD72253EE279903D11CC993DBE6B3ABCF62215BBF62215BBD014BF3DB96B3ABC12CC993DBFAFEDBDA60669BDA606693D12CC993D987E82BCF622153B8A19313D9B7E823C881931BDD858F2BCA0C2B53D11CC99BD04AB7B3D7170ACBD9A7E823C06AB7B3D2A751E3D2FB9D13D7170ACBDD858F2BCA806693DA1C2B5BDD558F2BC867717BED558F2BCA1C2B5BD3E7C093E31B9D1BD74B4DFBB987E823CA1C2B5BD11CC993DD014BFBD8919313D7AB4DF3BB96B3A3C6ECE12BEE7BD43BD9A7E82BC5E0BDB3D1910CDBCE279903DE27990BD6BB4DFBBE27990BD3E7C09BEA60669BD5BC7A73CF02215BBA606693DF622153BE7BD433D11CC993D7270AC3DC9D00BBD9A7E82BC74B4DF3BE27990BDBB6B3ABCD014BF3D7270AC3D');
INSERT INTO "vectors" VALUES(7,'ada',X'799861BDE366D4BC5A38D6BC06257FBDC614C83DF0418BBD0AA9CD3D4B8AE4BBEA127B3DE18DC7BD9ADC6EBDA33A9F3D07DEBFBD89B76E3D9B1D4C3CF83BB9BDFC06C73D2862553DEE64C0BDEA00AE3D00D2D4BDBD67CCBB5CDFD9BDFFD1D4BD4FD422BB904653BD0BA9CDBD7B98613DA16F91BD368FE13DDA3A9DBC33CE843C1AD6D4BBC838523DA22C20BD29EDDA3DAFB2233C183D55BD34CE843C158484BCEA127BBD89D3ECBCE2AD033DC61CD43CDBF7ABBDCAFF11BD1C289FBDED64C03DFFD1D4BD51281DBDEE64C03D8C90FB3D30EB46BDFAE41B3E5B6A553B9963A6BD7602463D8C8CAD3D57BE383DF278B7BCF378B73C50427BB9AF8A603D7402463DDA3A9D3C3AF104BE35CE84BCE166D4BCE2AD03BD5F9CE8BC97F8ECBBE06B1C3E78548B3DD42B49BD2FEB46BDD7D68A3CB92FD03CED64C0BDE56A923D9D1D4C3C2D83F63DEC4215BEFA1884BD69A4053D57441BBC7502463D8B7E2E3D290D173CA26F913D296255BD0D74DBBD00A5EE3C2962553DD93A9D3C54441BBC8DB0373DCAFF113DD81E1F3DE900AEBD59437BB9D4EBC03D886FDA3C78548B3D551953BB33A001BE395AEFBD4A6A553B13C3B7BC7D43A3BCFFF110BD871A1C3DC449BABDC506493DC0702DBD00D2D4BDACDEB93C0AA9CD3DC0702DBD8CD3ECBC5A38D6BC68A4053DA9F444BD15E7C13D0D74DBBD00F210BD88D3EC3C0C1E483D34CE843CD52B49BDE735A03D7B9861BD0C1E48BDFDF563BB066031BBD0952D3D5443023A8461DBBD1C2A90B9866FDABCB1D782BB089780BC92CD8A3DDCF7AB3DE666D43C11B01A3C00D2D4BD9FADD33BC0702DBDDE2E58BC35E40F3D53441B3C933486BD9D3C42BB1EEFEE3C97299039C99C64BD8CD3ECBC196F5E3D57BE38BDBB2FD0BC43628C3D33CE843CF51BDCBB88D3ECBC39F1043E75791FBE24CC393D9B1D4C3C34E40F3DEECC10BD4F0C9FBC558C2F3D7998613D84C04F3C2BDCF2BCA33A9F3DD71E1F3D7602463D04882C3D7B98613DC85450BC009DE23D9246533D7A98613D69A405BD9E1D4CBCAD3405BE871A1C3DDDC2B9BDD93A9DBCE166D4BCAA9F86BC9A5527BC0B47663BFEF110BD358FE13D478AE4BB2CB8E83D9246533D86F6913D8BC19FBDB2DCA53D1FB0BB3C1B16E23D0BD6D4BB35E40FBD397A2B3D34C085BDEA127B3D24CC393D4242083E48A662BDF98B54BC9F1D4C3C4431E8BDA0B282BCA33A9FBD7644DD3B7402463D21BEBABD3948223DDCF7AB3D10665C3C06DEBFBDAF8A603D20B0BBBC0B665C3C4431E83DBA0AF1BC54441B3CA605ADBD5108E13DE2AD03BD904653BDF3B033BB1CEFEEBC69A4053DBD67CCBB184BD43D06F663BB10B4633D0513B23D9EA4833DB72FD03CCAF1923DBBDA11BDB25120BDED64C0BDCC9C643D0B1E48BDEA99B23D95ADD33B53C56F3DF253D83C536A553B17437BB9');
INSERT INTO "vectors" VALUES(9,'ada',X'3FB4A13D23AE043B86A11FBEEB43953C97D388BDFF9AD7BCFF9AD73C98D388BD5C69993D786FB6BC56BA3EBDC230683C2EAE04BBE694BA3DE1E55F3D85A11FBE58BA3E3D3EB4A1BDB68880BDB1D9253C98D388BDFE9AD73C70C0DBBDCD8E1DBD92242EBD4205C7BBE0E55F3D18A1F4BDCD8E1DBDD08E1D3DE1E55F3D3505C73B89C6F83C98D388BDC9DFC2BD8D75D33DB0D925BC1D504FBD86C6F83CC430683CE694BABD3FB4A13D736FB63C1EAE043BFF9AD73CC330683C3A05C73B92242E3DCE8E1D3D034AB2BDC230683C86A11F3EA67B703DC8DFC23D5D6999BDFE9AD7BCAFD9253CC330683C97D388BD1EAE043B5C69993D3205C73B92242E3DD08E1DBDBD30683CCD8E1DBD8C75D33D93242EBDDFC006BEC23068BC1C504F3DCE8E1DBDB688803D3FB4A13D33AE04BB3FB4A1BD1C504F3D58BA3EBD98D3883DCE8E1D3D19AE04BBE1E55FBDB58880BD09F90C3D09F90CBD019BD7BC22FFA93D92242EBDFF9AD7BCCF8E1D3DDA112CBE23AE04BBCE8E1D3DB688803DCE8E1D3DB3D925BCE694BABDFE9AD7BC3FB4A1BD86C6F83C14AE04BBC330683CB4D925BCF7C6233E29AE04BBB0D9253CB58880BDCF8E1DBDCE8E1DBD98D388BDE694BA3DC330683C8D75D3BDFE9AD73C756FB63C38AE04BBE2E55FBDB3D925BC1EAE043B1EAE04BBFE9AD73C756FB63CEA43953CE1E55FBDC8DFC23DE0E55FBDC23068BCC43068BC70C0DBBD766FB63C92242E3DC430683C5D69993D3FB4A1BDE694BABDD08E1DBD323113BE3456EC3DC23068BC6E9B023E510BE43D5D69993DFE9AD7BCFE9AD7BC92242EBDAB2ACB3D98D3883DFE9AD73CB1D925BCCE8E1DBD2D05C7BBCE8E1D3D09F90CBD3FB4A13D8E75D3BDFE9AD7BC766FB6BCCE8E1DBDA67B70BD3EB4A13DFF9AD7BC3FB4A1BDAFD925BCCE8E1D3D5D6999BD6D9B02BEB0D925BC791E913DC63068BCAB2ACBBDB688803D1B504FBDFE9AD7BC3EB4A13D33AE04BBB1D9253CE84395BCCD8E1DBD147C1B3EDFC006BEE694BABD6FC0DBBDEC43953CCF8E1DBD92242E3DE1E55FBD3D05C7BB1EAE04BB58BA3EBDCE8E1DBD6D9B023E3FB4A1BDCA3068BC044AB23D92242EBD98D3883DFF9AD73C1F504FBDE0E55FBD1EAE04BBAB2ACBBDE694BA3DC230683CAB2ACB3D57BA3E3DB4D925BCBF30683CB68880BDC8DFC23D86C6F8BC8D75D33D58BA3E3DAB2ACBBD1F504FBDB4D925BCB0D925BCE0E55F3D3456EC3D98D3883DC330683C019BD7BCBF30683CB688803DBD30683CB3D9253C97D388BD7A1E913DE2E55F3D98D388BDC33068BC58BA3E3DFE9AD7BCB1D9253C1EAE043B20FFA9BD98D388BDC43068BCE0E55FBDE1E55FBD5D6999BD29AE04BB3FB4A13DDFC0063EC33068BC3FB4A13DC330683C3FB4A13DFE9AD7BC766FB6BCE0E55FBDC230683CFF9AD73CE1E55F3D1C504F3D6FC0DBBD5D6999BD');
INSERT INTO "vectors" VALUES(10,'ada',X'EE877CBCF2653D3D1A61343C1A6134BC3FCB8B3D2E85003EA700EF3D6257A23C87E3B83D2F8500BEABDEAFBD9B07053E3D5C2BBD397EEA3CAA4D103B5E7961BD397EEABC3FCB8B3D40CB8BBD3D5C2B3DED877C3C2E85003E138373BD65C682BD65C6823DABDEAFBD397EEABCD0D9A6BDD24807BDE48E123EF0877CBC8174D83BB54D103BA44D103BD248073D3E5C2B3D3E5C2B3DF0877CBC367EEA3CF0877C3C148373BD5E79613D1483733D5E79613DCBFBE5BDA700EFBD5E79613DA44D103B1E6134BC5E57A2BCD06AC63C3BEDCA3DAF4D10BB84E3B83D5E79613DF4653DBDACDEAF3D3FCB8B3D5E79613DCDFBE53D1BD094BD3FCB8BBDA86F4F3DCD6AC6BCED877C3C1B6134BC3D5C2B3DF2653DBDE48E12BE1761343C397EEABC8852193DF2653D3DAA4D103BD24807BDF0877CBC186134BCA44D10BB17F2D3BDEA877C3C3BEDCA3DD248073DAA4D103B6157A2BC5E7961BD8F74D83B3BEDCA3D1383733DD448073D3BEDCABD1AD094BDAA4D103B5E79613DA44D103B3A7EEABC6157A23CE48E123E176134BCA86F4F3DE48E123EF0877C3C6257A2BCAADEAF3D1383733D3E5C2BBD5E7961BDAA4D10BBACDEAFBDAA4D103BF2653DBD3B7EEA3C8A5219BD3E5C2BBD5E7961BDF4653DBD1483733D5E79613DED877C3C397EEA3C397EEABCED877C3CD24807BDCDFBE53DED877CBCF2653D3DD248073D2C16203E3D5C2B3DCBFBE5BDF2653DBD138373BD186134BC3E5C2BBD1AD0943DABDEAF3D3E5C2B3D3E5C2BBDAA4D10BB3BEDCABD1483733D3E5C2B3D1AD0943D1AD094BD7974D83B1AD094BDCBFBE5BD1683733DF4653D3D9C07053E40CB8BBDCBFBE53D875219BD5E79613D3D5C2BBD85E3B83D3D5C2BBD5E79613D3FCB8BBDA44D103BCDFBE53D3D5C2B3D9E4D103BEE877C3CABDEAF3D3BEDCA3DAADEAFBDCD6AC63CF2653D3DCD6AC6BC2F85003EF2653DBDD06AC63C5E79613DEE877CBCA44D103BEC877C3CCAFBE5BDAA4D10BB3D5C2B3DEE877CBC5E7961BD9C07053ED248073DF2653D3D3BEDCA3D1A6134BCAB6F4FBDAA4D103B885219BD1AD094BDCBFBE5BDAF4D103B3D5C2BBD3E5C2B3DAA4D10BBED877C3CD248073DF1877CBCCFD9A6BD8952193D6057A23C1BD0943D397EEA3C1B61343CAADEAFBDCD6AC63C397EEABC2E8500BE148373BD6079613D749D2D3E6457A2BC3D5C2BBD3B7EEABCAF4D10BB3D5C2BBDEE877CBCEE877C3CCD6AC63CD0D9A6BDD06AC63C397EEA3CF3877C3CEE877CBCD248073DAA4D103B3BEDCABD16F2D33DEA877CBC397EEABC397EEABCA44D10BB397EEABC5E7961BD8D74D83B148373BD3E5C2BBD397EEA3C5E79613D1AD0943D61E8C13D176134BC186134BCED877C3C3E5C2B3DB54D10BBBD243BBE3D5C2BBD6357A23C148373BD186134BC749D2DBEF2653DBDF2653DBD397EEA3C3D5C2BBD');
INSERT INTO "vectors" VALUES(11,'ada',X'1F16593D4347803D646F8DBDC7E7B43DF459C5BCB209ABBCBF9D313D2016593DB009ABBCD13138BC52DB863D374F613E35AADF3C646F8DBD2116593DB009ABBC73FAF9BC6BB9903C4F9103BCD77BBB3D1482D23A7F4D173D0938CFBD72FAF9BC740394BDCD31383CE70FC2BDAE09ABBCB009AB3CA21A263E1482D23A6366733DD03138BC0482D23ACD3138BC76FAF93CE70FC2BD519103BC53DB86BD4247803D231659BDB009ABBC53DB863D433E663D74FAF93CBE9D313D31AADFBCAB09AB3C51D26CBCF7A3C8BDFFED4B3D424780BD7403943D2116593DBE9D31BD73FAF93C47EC01BE4C88E93DFFED4BBDB009AB3CE90FC23D47EC01BE4347803D6566733D7D44FD3D201659BD0482D2BA84979A3DE70FC2BD434780BD5B250ABDB753AE3DCE3138BCAE09ABBCB753AEBD77FAF93C9C7524BD47EC01BED77BBB3DB009ABBCD53138BC636F8DBD4A88E9BDAF09AB3C0C82D23A5B250ABD5D250A3D84979ABDD031383C4247803D1BCCD5BD50D26CBC211659BD83E19DBBEC59C53C5B250ABD75FAF93C2016593D6466733DFC81D23A9D75243DBF9D313DA5BFA73D0482D23A2D82D23A0C82D2BA0938CF3DD131383CC6E7B4BD7C4D17BDEC59C5BCA6BFA73D75FAF93C00EE4BBD4B9103BCC7E7B4BD53DB86BD53DB863D35AADFBCB953AEBD6BB9903CD131383CEF59C53C4A91033CA6BFA7BD46EC01BECF31383C423E66BDB753AEBDD77BBB3D3CF4E23D85979A3D4247803D03EE4BBD4C88E9BD0938CFBDA6BFA73D4E91033CA4BFA7BD53DB86BDB009AB3C2A60DCBDBE9D31BD0482D2BACD3138BC646F8DBD5091033C7D4D17BD4247803D5780083E73FAF93C6BB990BC5C250ABD78A8153EAF09ABBC75FAF93C4DD26C3CCD31383C4C9103BCCC31383C85979A3D0482D2BA646673BD4682D23A423E663D6BB990BC424780BD403E663DD77BBBBD5FCA0BBEA5BFA7BDE0C53EBD7C44FDBD2016593D2016593D4247803DCD31383CBE9D31BD75FAF93CAB09ABBC4D91033C75FAF93C56D26C3C7403943DD231383C75FAF9BC4891033CBF9D313DFEED4BBDAB09ABBCCA3138BC2016593D1F16593D92861FBE75FAF93C5B250A3D30AADF3C3582D2BAAE09ABBC646673BD4A88E93DC6E7B43DB009AB3C52D26CBC201659BD18CCD53D9E7524BD5D250A3DDFC53EBDBE9D31BDCF3138BC85E19D3B740394BD4A91033CAB09AB3C19CCD53D231659BD9B75243DB009ABBC84979ABD53DB863D7403943D54DB863DB009ABBC84979A3DD77BBB3D19CCD5BDB753AEBD84979A3D2016593D4D91033CA4BFA73D4691033CB753AE3D7403943D4C91033CBE9D313D211659BD5D250ABD74FAF93C75FAF93CBF9D313DA6BFA73D4247803DCC31383CAE09AB3CBF9D313D4247803D5D250A3DC6E7B4BDE0C53E3D2316593D656673BDD87BBB3D5E1CF0BD646673BD');
INSERT INTO "vectors" VALUES(12,'ada',X'076D04BD472C63BC28E511BDD75146BD5126953DC7B536BD644BFF3D1629DABCC540A03D167EF9BDF35BADBD7044C03D415FCCBDC3865C3DAB36B93C3DFAD8BDF625943D60A31E3DF5C0A0BD5B4ECE3D2341A1BDDAA0663C0E15E5BDA029B4BD032857BCA27342BD6B7AD9BD076D043DC640A0BDF119093EA7A21CBD21CC8A3CC6D097BBAF00A03C1B226ABD6EDFCC3DDC70A7BA5A5EF1BC0308113DC6D0973B4A588DBDDBA5F4BBA63D293DCDE4103D3F5FCCBD040811BDD432C0BD6EDFCC3DA029B4BD3F4467BD6EDFCC3D9A000C3EA827D6BC6D9D283E1838BD3C2341A1BDA273423DC9DFCD3DAC6C033DCC55023CF7BAA13C595EF1BC4BBD803D606DD43CA7A21C3D9EC4C0BDCED097BB156ED6BC9E0E4FBDFDC984BCD78790BC1F9A093E00D9363D856FDABCC65043BD65907FBB0DCB873B68B0F2BD1B226A3D4F6C023D5E0E133E72CC02BE60BC74BDE734343CA8A21CBDA4D8353D73BD773DB000A03CC740A03DA5588EBD157EF9BDC450433D5A74443DA8A21C3D64BCA53C48D8343D0408113DB4858A3CD0BD78BD6501A23C52E0763DDAB6393DF35BAD3DB0A8FC3B9530F3BD1F77BABDB3858ABC9E0E4FBD58CA05BC9CA95BBDF26BD03C280B88BD1629DA3C20EC50BD1948E0BD013E2A3DF35BAD3D5B5EF1BC6CCB88BC22B637BD251B2B3D4D070FBD5B4ECE3D9895E6BD6337BBBCDBA5F43B260B883D0408113DAD456BBD3A2C823D013E2ABD610812BDDAA066BC929C5ABCD202A63CAF00A0BC786CF9BDEA5CED3CD9B639BDFCC9843C0DCB87BB48F3993D4A588D3DFED8363DC3C134BC1948E0BDCEE4103D5C5EF1BCD3A5F43BAD36B93C5AA3ED3CD7EC52BDEC70A7BA20CC8A3CC3EEEB3A66AC82BD6ACB88BCF46B013DC9A593BD6D295BBC4E5CAE3D1FCC8A3C6028D8BCDBA5F4BB46CE123E43042CBE076D043D4F6C023D0DCB873B734903BDA35DEFBCC65FF53C1A38BD3CEC70A73A78226BBD7A3D813DB3858A3C5F6DD43CF4DF753D076D043DAB6C03BDE025003E9F0E4F3DF9A95C3DE33434BC58CA053C9C821CBEF3060E3DF25BADBD6501A2BC040811BD28E511BD6DCC8B3AA2D39F3B6137BBBCE862EC3D0DCB873B2241A13D5CA3ED3CFB73433DA8BD81BD70A9B33D1FEC503D20DCAD3D22CC8ABC71295BBC99DF743D522695BDA173423D1A38BD3C06F5153E636D05BD066D04BD7DCC8B3A71A9B3BDE5CD8FBBF9A95CBDCC6ED83CA073423D2C69DABDD751463D3F5FCC3D874A063DC640A0BDA63D293D2B4A05BDFBA2ECBB66B0F23D587444BDC887E7BA570F51BD42C4BF3D6601A2BC9BDF74BDAC36B9BCFC7343BD1FEC503D6BCB88BC71A9B33DDAA066BCB20F523D1E3D803D95F6B83D6F295B3C37C78E3D709F62BC5A7444BDF5C0A0BDD7EC523D52456ABDBEACD23D4B2C63BC28E5113D49A26A3CB2858ABC66BCA5BC');
INSERT INTO "vectors" VALUES(15,'ada',X'9FAE5EBCC35BBEBC30B9D0BD49653DBD4F383B3D4285B2BD4E02853D566DB0BCF00E8F3DFCF77FBD4E5F30BD6282623D95FA89BD1C06BD3D1176F73CFA120EBEB5EBF83D0FF57B3A7CE0E4BD5B813D3D61E901BE192ECCBB637308BEDBD3DABD748A55BCDC4F3ABDB6E912BDA44B58BC370794BD13889E3D1D07D73CDD8ABC3CF1B8953CA824E33CC4608ABDEAC20B3E9670833CAA86A8BDD589973C9FAE5EBC263BB2BD1D19303CCA5CE33C212ECC3B8BF5E4BC3E7780BCA5A61DBDD434AD3DBAB776BDDF6F88BDC0A88E3D9E82293E143F80BCE6421F3E03B661BD68469FBDF902273D25F46E3D50DD483A534407BDAD8C8E3D8242AA3CF8456A3D47DCD03CC2E5B93BA0FB15BEC9333A3D8FC62EBD842EA8BDEA070FBD9884103DC820C73DE8C0CB3D92AC14BC564407BDA372CDBCFD1E753D17409ABDF71DDB3D6B89303C36106F3D84EC17BE7A20A8BD7912813D1E1930BC5ABCBF3C755A853D2456E6BC5544073DF40A693B7EE224BE3204943AFDF77F3DF7291C3D5CC75FBB96AB053DE03CD2BC5EBCBF3C441EFABDBB99C3BA8607B33D4B03463CB410083D832EA83D2714BDBD601FD1BD9EAD39BCF3BB58BC57CF27BDD1DF42BDA6CEAC3D707B94BD52C75FBB523E5EBC235480BD81EAC4BB73EC4C3DFB0227BDCC5CE3BC27CC6ABB676FFA3CCA5CE3BC6DFE9A3D5A67D5BD5A0AAA3C1C2ECC3B5409853C14180BBCB56DB3BD19409A3DE4EEE7BCB8C21DBDC175583D968410BD54DB57BC271A55BC981818BE28003B3D9AAD39BCF86C5F3D46653D3DA5CEAC3D14F9563D6F3883BCA481903AB60ECDBB9370833C00D0FBBCE4EEE7BC99BF923C92490EBCA739FFBC9A71A8BC931B993DA4C26BBDDD2845BD1F9043BDE92E043DC09C4DBD2E35B03C596DB03C988410BD6001533B728A55BC0A6D113D487231BE6760073DCD0EF93CECE0193D5980A3BDC80DD43CCDD2673C4E5F303D45CF753D2B065E3BAECE853DE4EEE73C47DCD03C3292DB3D799DD3BC31D338BD167B113C62A9573D1AA3AB3C1FF4D8BBD2B84DBDF0E799BD2456E63CF6ADBCBD0A9406BDA49B763D1DB738BDDD3BADBC77C5573D9B5274BD4D7AE43D21CC6A3BC181993D5CBCBF3C6EA2893DCFBFF4BD7C07DA3D82B0D13B06591D3E9FD5D33CC09C4DBD2256E63C13889EBDCC0DDF3D4B8EE63C4B19133E498EE6BCC24E63BDF46AABBC39C7D0BDE7EEE7BC1E9043BD6834783D097A9E3DB8C21DBD7ED9E43B9178443D7F19013D6FA289BD5639603DDC4F3ABDC4608A3DEDADE33D0E1F27BDC1E5B93B759E62BDEF0E8F3D8943CFBCC65BBEBCA9C705BD30D338BD46C515BA4ADCD0BCC24E633D561D12BD9CE83B3D9093F83D6854C63DDE8ABC3CBE12C73DA3CD12BDDE8ABC3C0888C5BDA087E93C842081BD75C5573D5544073D7BF9B23DB3E4783DDB762FBD00C108BD');
INSERT INTO "vectors" VALUES(17,'ada',X'64A165BD9276893AE5AB3DBC5C4862BDA612EC3D6A7689BA9C30EC3DA61B953CC7DC963DDEC5D9BDA80A7ABD6B33D83D7A7DA1BD3C33913D2726B13B6811A1BDF1BA7B3D8493A43D0AD2EDBDDD498B3D3E4594BD5395473DD2F2D9BD7EFAE3BD520B173DD3CDA6BD6EE79CBD61C085BA2C5780BD76AB063E945CEA3A05DA813BEA9FCABA2C71753D8FC4CE394ED6C73D52E2EA3C54758DBDBD2F953B8D8E04BDA97F86BD0C6B1DBA03592D3D4A6C5A3DB3BCD1BD33F4A7BDF1B09BBC3F9D7B3D04529FBD0C5DAABCD0978E3D123A033E304281BD4EBE133EFFE16D3CF6608FBD212D9C3DB452863D03D08B3D88757A3C4A5353BC565072BC13456C3DC272233DDF480C3CEA20F5BDD568CC3B13CF1CBD1DB2ABBD0E3EFCBC2D6197BCB0140B3E4560A83DB54022BD3FF36EBD285B823CDBDFD43C0BD93BBD96D9713C05E9243AF507D63D50BBC3BD7D5F7FBD95B0F83C9FC29FBA76132E3D1F58943D9DE40B3D391D6D3D793889BD0BC8BEBD435C623CDB8E723D7B074C3A6C1D4DBD916B203D95BACC3D2CC0423D1A6258BDA954633DFA5BBE3D0EDD41BC2603983D6975403C25AADEBD3E8CFEBD799D1F3C0A0821BD98D5BBBC056BF0BCE30A5D3DC14DC5BDAB08E83CEC9D83BDA586A9BDB981CA3CB417DD3D8EC110BD07AF64BC3BCDCABCC72DCE3CBB397FBDFF68F63D19D79EBD6BA90FBCAE03573D1D34BF3D9BF2153CAC41A1BD63C4493D6EE79CBD3A5D34BDB3FAA1BC8BC5D83C16BE9F3D93BE143D8CB4BDBDD1C7F6BB387061BD52A7933CD8BE2ABB677BAC3DA790033D18F2D53BEE6F25BC9D57F4BD7883C43C66F2CDBCC3EF183DEE84AFBBFB624C3D3089ABBD752C943C94AD873B8CE8123D159860BDE28A4FBB6AA4B73C510ED1BBBC45093D60EB4B3D90C085BAB3645E3C438F6B3C4DEE013E2D370FBE27BB5B3D7FB47F3C23B7343DDF11003D811519BD4166423D2CE3C23DB239BE3CBA02A2BB61F68C3D7C9D1FBCD35E623D3A8AFB3C7A10323DFDCBB3BC570F003E1E3B4D3DF7696F3DA779C43B2290D6BC25EFB6BD2BC9FA3C7942B8BDDBD138BDEFBA7BBD740C9C3AB44F28BD1BD67D3C12FE01BD6B51A83D39E7B73B5691BF3D6AA90F3C7BD8AC3D10D63FBD1D0DB73DC04A1D3C0832CA3D19FB05BDFE70E8BC420ED3BAC3A8D0BDB61BB23C86CE8D3D22A72C3E27EE67BDBFBF46BC2E26B13BF385C2BD0F4F0EBD6C51A8BDB8C855BC9321373D6803C5BDC3C5173D381D6D3DD8BE2ABB1BB2ABBD9613863D32EA19BCE94301BD3FCD033E47DAF5BB4F0ED3BA6993B4BD2B88B73D03592DBDF3B358BD81D8973C8204F5BC01AF64BC3ACDCA3C0E68E23DC0EF183D61E2AB3D9E2E9A3D77A4D43C961A143DD2F89E3D930158BDF031DABDF385C2BDCD02633D0D0C48BD0D4F0E3DC0C182BD40621B3DE984AF3BB681CA3C35EA19BC');
INSERT INTO "vectors" VALUES(20,'ada',X'8BB2F13BE745B5BCE745B5BCCB332BBD870692BDCB332BBD4385D83D2A73CE3DCB332BBD95BBF6BD88B2F13BA3189CBD1A6A49BC2A73CE3D8BB2F1BBCB332B3DC9332B3D960F17BDA3189CBDF34EBA3D88B2F13BCA332B3D508EDD3C387C533D950F173D508EDDBCD73CB03D508EDD3CE645B5BC1A6A49BC94BBF63D2973CE3D1C9419BE6DF4873D508EDD3C4585D83D6CA067BD6CA0673D508EDDBC88B2F13B85B2F13BD83CB0BD95BBF6BD85B2F13BF34EBABD4385D83D6CA0673D508EDDBCE545B5BCE745B53CE745B5BC8806923DD93CB03D960F173D6CA0673DC9332B3D508EDDBCA2189CBDE645B53C88B2F1BBCB332B3D8BB2F1BBF34EBA3D6CA067BD0E61C43D6DF487BDCB332BBD4385D8BDBE2AA63DE445B53C6CA0673D88B2F13B7BA9EC3D387C533D508EDD3C1C6A493C367C53BD6CA067BDD73CB03DCB332B3D880692BD1C94193EBF2121BB2A73CE3DE645B53CD93CB0BD950F173D6CF487BD85B2F13B186A493CBE2AA63D2A73CE3D508EDDBCF3780ABE1C94193E88B2F13BE645B53C950F173D88B2F1BBE545B53C0F8B143E367C533D960F17BDB921213BF34EBABD387C53BD6CA0673DE645B53C88B2F1BB8BB2F13BA3C47B3D1A6A493C00583F3D508EDDBC950F173D387C533DBE2AA6BDCB332BBD6CA067BD60EB023DBD2AA6BD508EDDBC930F17BDCB332BBD950F17BD6BA0673D88B2F13B1C94193E1A6A49BC7BFD8CBC88B2F13BD93CB03D6DF487BD1A6A493C8806923DCB332B3DCB332B3D4585D83D1A6A49BCD83CB0BDCB332B3DB92121BB950F173D6CA0673D2973CE3DC9332BBDB92121BB508EDDBC6CA0673D8706923DD93CB0BDE645B53CF3780A3EE645B5BCD93CB03DD83CB0BD85B2F1BB950F17BDF34EBABDE545B53CE645B5BCB22121BB7BFD8C3C4385D8BD508EDDBC7AFD8CBC950F17BDE545B5BC2973CEBD1A6A493C508EDDBC508EDD3C2A73CE3D85B2F13B85B2F13B1B94193E880692BDA3C47BBD79A9ECBD387C533D950F17BD880692BD508EDD3C186A493C950F17BD367C533D00583F3DCA332B3D6CA067BD950F173DCB332B3D1C6A493C387C53BDCB332BBD4585D83D508EDDBC8706923D00583F3DE66F05BEE645B5BCD83CB03D538EDD3CD83CB03D6DCA373E2A73CEBDE645B53C508EDD3C930F17BD4385D83DD83CB03DA2189C3D508EDDBCB92121BBE645B53C5FEB023D7BFD8C3C6EA067BD8806923DE545B53C1C6A49BCCA332B3D508EDD3C79A9EC3D950F173D8806923DF34EBABD0F61C4BDA621213BCB332BBD508EDDBCCB332B3DB92121BB5EEB02BD8BB2F13BB921213B6CA0673D8806923D387C53BDCB332B3D6CA0673D387C533D88B2F1BB2973CE3D4585D83D1A6A49BC367C533DCB332B3DC9332BBD950F173D6CA067BD88B2F13B950F17BD8BB2F1BB7BFD8CBC6CA067BD85B2F13B');
INSERT INTO "vectors" VALUES(22,'ada',X'FC86133DFF8693BBFD8613BDBC68B8BC2BA1C1BDFE8613BCC5EA0E3E1E16813DFF8613BC6DBF1CBEFE8613BDDCF725BD7A4ADDBCBC68B83DFB86133CFF86133CFE86133C9DD94ABD7C4A5DBDEB82E63DFC86133D8C4E8A3DFC86133C1D16813DFE86933CBC68B8BC1D16813DFC8693BBFC8613BD1E16013DDDF7A53D2BA1C13D8D4E0ABEFD86933CFF8693BB2BA1C13D8D4E8ABDDCF7A53DFC86933BFE86133DFF8613BC9CD94ABD2BA1C1BDBB68B83CEB82E6BD2BA1C13DBC68B83CFB8613BCF98693BBF98613BCFF8693BB2BA1C13D7A4ADD3D1E16813DDDF7A53DFC86133DBB68B8BCDCF725BDFF86933BFE86133DFD86133D9DD94ABD9AD9CA3DDDF7A5BD5CBBEF3DFE8693BCBB68B8BC9AD9CABDBD68383DFE86133DFC86133DFE8613BC6EBF9C3D6DBF9C3DBC68B83CFE8693BC6CBF9CBD2DA1C1BD1D16813D8C4E8A3DBB68B8BC6DBF1C3EBC68B8B11D16813DBC68B8BCDDF7A5BD1D16813DBC6838BDBC68B83CFC8693BCBD68383DCBF3F83D794ADDBC2DA1C1BDBC68383EFB86133CBC68B83C0287933BBB68B83C9AD94A3DBC68B83D6CBF9C3D058793BBFE86933CDDF7A5BDFE8693BCBC68B83CBC68B8BCF886133CBC68B8BCDDF7253DDCF7253D7A4A5D3CDCF725BDFD86933C6DBF9C3DBC68B8BDBC68B8BCFC8613BD8D4E8A315CBB6FBDF98613BCFE8693BC7A4A5DBDFE8693BCBC68B83CFC86133D14942A3E794ADDBC1E1601BDBC68B83C2BA1C13D6DBF9CBD028793BBFD86133DFE86133CFE86133CC5EA0E3EDCF725BD9CD94ABD7C4A5D3D794A5D3CFD86933CDCF7A53D1E16813D7C4A5DBDDCF7253DF98613BCDCF7A53D9CD94A3D9CD94ABDFC86133D1D16013EFC8613BDDDF7A53D2BA1C1BDF986133C1C1681BD1E1601BEFE86133DFB86133C00000000774A5DBC8D4E8ABDFF86933BBC6838BD9CD94ABDFC86133C8E4E0ABE774A5D3CDCF725BDFB86133C9CD94A3DFC8613BCFD8613BDCBF3F83D2BA1C1BD4D30AFBD6DBF9CBD0087933C1D1681BDFD8613BD794ADD3C764A5D3CFF8693BB6CBF9C3D8D4E8AB1FD86133D9CD94ABD1E16013DBC68B83CFE8693BC1E1601BDFE8613BDEB82E63DF98613BCDDF7A53D8D4E8AB1342318BE9CD94ABD2BA1C13DDCF7253DC9F3F83D8D4E0A3E7C4ADDBD9DD94A3D7A4A5D3D9CD94ABDDCF7A53D9CD94A3D9AD9CA3DFC86933B1C1601BDFC86933B5ABB6F3D1E16013DBD68B8BC2BA1C13DBB68B83CDBF725BD7A4A5D3D7A4A5D3D8D4E0A3E9AD94A3D9CD94A3D9AD9CABD5DBBEFBDF986933C8C4E8ABDDCF725BDDDF7A53DFD8693BC7A4A5DBCFC8613BC794ADDBCBF68B83C2BA1C13D1D1681BDBC68B83CFC86133DBD68383DFC8613BD8C4E0A3EDDF7A53DFC8613BC6CBF9C3DBC68B83CBB68B8BC1E16013D8D4E8ABDFC86133D1D1681BDFE8613BD1C1601BDDCF7A5BDBB68B8BC');
INSERT INTO "vectors" VALUES(23,'ada',X'B636683C798AE33BDC2B45BD3234AD3DCC8A3CBD89E902BDEE2EE13DAC287E3D6E91A8BDDD070DBD46E39F3D9409623D46E39F3D353C653C86340F3BEBCC4D3D39847DBD775E993B828191BD4A461F3E7E4914BCDF64833DAC287EBD5DE63B3D2D9DE13CD5AF5FBCC9AC173CF88C98BB6F8FD0BC420B053DC7DEE53DC7DEE53D862474BDE293B63D58E63BBDEBA4653C9CCFE0BDE294CD3CA3AA6ABD80C2873D6A6993BB8B6FCEBDAFA927BDCDAC17BC2A9DE13C4D00B73D5CA1BF3D43B2143C6596F1BC6995DDBB2BA803BD0B6A7DBD0031E63D88E902BD5BE63B3DB6273B3DE193B6BD9E3E1A3C598B1DBDF4067C3D8F67163DCC8A3CBD7105583DE494CDBC54BE133EE5D705BE6E91A8BD989F963C426C01BD54B382BD868AE3BB8E47693D380EF63CB7B711BC5D02BCBDAD00C03DA79BBDBC698744BDE565733D094417BCE740A4BDCE46573DC252BC3CAAD18C3D42DCAA3C73C0DBBDB072A4B8EE2EE1BDCBD2A7BD52B3823D3C490C3D6469933BC2AFB2BDBDF444BED450BB3D94340F3B6206F2BAE194CD3C582A213D6193A9BCC0F0A83DC07CD2BBB66B20BD2AA803BDF5E1ACBD091A81BCEE40FD3D50AC0D3D494533BDC7C8433DE50827BB074EFD3DE8B0CD3DD5AF5FBCF671833D1D32A8BDF87F03BE0B2F0C3D2712CF3C39490CBDFE5FC0BDE494CDBC9E4C04BDDDC11CBB65BD3FBC4A00B7BD6EEE1EBD0E5CE43B13693ABD2019F03C4AEA143D5E02BC3D4754E0BCCFAF5F3C42B2143C31BFE7B9EA6FD73DF626293D7DD5BABC580A74BDE62A023DDE6483BDACED0CBDD79792BB33838D3D82F1BABD8659ACBC6DD993BC638FFC3DDCE75F3D7250B2BD05829E3BDEE75F3D5BA1BF3DF466DEBBDE070DBD5068283D65B587BD212640BC8E8B4E3DAA9BBDBC57728C3D9714843C624A033B4754E0BCD4D9F5BC9D17CCBCC6C11CBBDAE0EABD45E39FBD2A9DE1BCF266DE3B4ADFF2BCE565733D550A743D018FF33D0B1A81BC53B382BD57728CBD285C923C601EBC3C01D7DEBC35E083BC8624743D61AA623C7C8AE33B8ADFF73D621FD33DD2AF5FBC289DE1BC3971A4B8B6273B3D2E22913D018FF3BDE2F1C33D838191BD989F963C9067163D980962BD756C32BD3FA0FD3D98C57C3DD7C46A3D95E1A33DD721E1BD018FF33D5B43B2BD6109313DA24162BC4324963DCDAC173C7D8AE3BB7105583D5422953CBDDA863CBB319F3DD450BBBDEDA8153D95C57CBD688744BD4754E0BCF7E1AC3D5C93A93CD8D9F53C47D1833D89E902BDFEA43CBD50FF09BE51AC0D3DE5A9583D30E083BCC9DDCEBCE56573BD9F17CC3C0BD7073EC5C8433D7FC2873D34E19ABDE61FE0BCD7D9F53CBE52BCBC5AA0D73B8552B73D0CD7073EF28C98BB604D163DA8D18C3DD021883D4CA2A93D11C0D2BD721AE33C295C923C266FC5BD5C8B1D3DE918BFBCFF5EA93C');
INSERT INTO "vectors" VALUES(24,'ada',X'036423BD1EC703BDFD7F04BD881E92BDA010253DB7669BBD1A520A3E4D54413D18BBDB3C7FCC0FBEA8ED2DBD2D41B33CE993A5BD0ED2CA3D82D1C53B3BB44CBDC6E0CA3DCAEDB43CAC7DEABD69B0EB3D6725A1BD628C8A3C7E1590BD1C7463BD9AE58D3C81C761BDC1500EBD71276D3DD63B8BBD0FFFA53DC7B9433D2A62863DE143ABBD219F9A3D608C8ABCEB960F3EB059B1BCB7CB40BC18C3A6BAF74B13BCFAA037BDD53B8BBD409319BD9219C83C8412EABDD52CDD3CAEA903BD12B1773D4BC2C0BDB1D49ABC5A1D813D861C0A3E6636D33BEA960F3E1FC7033DF6C32EBDD8A7C63CEEC0E03C9C2A423DB059B1BC4570223D40B084BB2CA7BA3D7F68103C04F7853D162A0DBEC0500EBD6D759BBD638C8A3C9ADC33BCA04EC33C9F33003EAC7DEA3DAA9A44BC8F19C8BCDDF8A23CBFAFDFBB686AD5BD0782D03D821A023D0ED46E3D64DA18BD6C2057BDAE16A13D3EB0843B51FDD8BB56A3593D0C86E0BCC5DA763D0F270FBDF4C32EBDB6669B3D5614DF3CAD5663BD3C48913D69B7213D0464233D1B6D4D3D881E92BD088F3A3C21561A3E6366453DC0500E3D18C3A6BAB8B317BE7472F5BD1EC7033DF383CCBB424CA1BCD3A7C6BCCBB77F3D52CD86BDEFE4813DC7B943BD828881BD4877383D61DA183DAD5663BDE03D57BD3BB084BB0D6E87BC906756BD4703653D611ADBBD9C2A42BDE03D573DF4C32E3D5412BB3DE4233ABD58A3593D056423BD6C98CB3B409319BD2E4E8C3BF356913D855FB63CC87981BD0FAA613DA732E2BC626645BD6BFE193CDE3D573D8C1DB03D8B8A4D3D53BD763D8FD5D5BDB2FB7B3BC7B943BD51819C3CDD8B853D409319BD7DC925BD23128C3D3FE83D3C964D393D3F00B7BD1DBBDBBC9E4EC33CBBD8AABD4D0F0DBC439A2F3D3EE83D3CCA6D703B184FA0BDA838B63D46E507BEAA1A893C9956DCBACA72CBBCB259B1BC1740F2BC6266453DF59BC53DC93F643C414CA1BCEA960F3E6736D3BB0084CC3BD62CDDBCCEEB903D5ECEF0BC26374F3D81C7613D8A8A4D3D263039BDFE388C3C8E90A1BD4591553D9625D0BD45B0843B46C3A63A50FDD8BBECDF0FBD6E469CBC75D9DE3C9E30963D821A023DD5E8EA3D71D9DEBC4677383D49C78ABC3FBAA03DC879813D05F3393E6F276DBD71C185BC9B2A423D1AC291BD42FFD43D10FFA53D4F11153EC0FD6DBD47E83DBCF9E7AF3C9D3096BDD46D70BB5412BBBDF5C32E3D3DB44C3DD581A1BDA7795A3DEA93A53D62B3913D7FC761BDE993A53D99BE86BD68B721BD5512BB3D964D39BD50FDD8BB944D39BD8B1DB03D58172DBD120418BD3DBB69BAED4AD23BC879813DD1F002BD686AD53D1ABBDB3C1AC2913DDD8B853D1B94D43D219F9A3DB6194F3D1EC3A6BAF11A17BCF49BC5BD1750823D22128CBD75C5953DC90E68BC83A62E3DEE24443CD52CDDBCD06D703B');
INSERT INTO "vectors" VALUES(25,'ada',X'CD40D7BB9A1F573BA5EDC8BD75C5DA3C0C2DAE3C83FF44BD31DF153EB1743B3DE5CC563BA134AFBD2481963C19D4D73D82770D3CC0D3B43D5DD09C3C310B7CBD8D7CDC3C1622EC3C7A581DBEE7E6133E6B70AFBD7C709D3DB2A818BE51EE69BD1FE8133D3F3588BDBFF877BCBB1E29BDD1E391BD89BAD43DE922E23DFA3FBB3D2C44EABC13F6C33D93FD70BD5020E23D100D64BD32BC61BD09640DBDF862D93CBA5595BD7A1353BDFDFCA4B93DA7963CABDBAFBCCF48A43C97AD8E3DFBA3613D24D270BD211733BD46F6A53C28DEB03D52A8633D75BEC53D48356D3BA0CAB9BC269756BC400E383DEB13E0BB6ECA323DD8B35D3DBD63EBBC3F0EB03D906852B953C6D53DD05551BECCAE88BC658DDBBC4565EDBDD1189ABDEA0B303C3B84ED3D8A4FDB3DDA9351BCDC16D0BD68AB573D242FE03C1E7389BDB341B53D5105B1BB18FD5DBCA3ED47BDF39F3BBD6377C33DC7FD433CC2A174BD38A28C3D0BA0A7BD61AE15BD4091053D3241B6BDB8A107BBF94221BCA59FFCBD374E173DA256D33CC191DD3C60E6363D100F36BDCAFEA03C979B053EAE7F91BCA595DB3B83082A3DBFC403BE5391CDBDAEC3B13D6422233BF63883BDC404F23A782E903DE897D23C885F823DF30B1EBDF68C923B541774BD1E362BBDF71971BBC1CFB23B60E7F3BCDB5E45BD4A5356BDC1D9663D826989BD6E7C943C87C02BBDCCF68F3CD2754EBBEC31F1BDD5A4823D11E05EBC0B8C193DE410A53BDDCB8E3BB244D43C0C95633C9C74EABC089C663DACDD3BBD78B6EE3BF047793D68DDF33CC5FD43BCB776BEBC3774223D47F9BFBDF1AAFA3B1624E8BCD93ACF3DBD21F93C284B2CBD55411ABD4D6D1F3D7EEBD93DE2F2ACBC226B83BDF752293C771623BDB570C0BC4DB8AF3D1B9DB4BB3DD98A3CB680D53C26B9883CB4589A3C499A18BE9C4D7C3C9539B83C403943BDD3E094BD3BDB86BC0AFFBB3C2C62253D21FFBC3D5D3F6C3D20370A3E7F3F97BC019697BC4A3AAB3C0F16A2BB97B5AFBC1A381D3C2FC8F23CB9AC883DD76FD63CE06C21BDBFCC3E3D54AAC03DF005ABBD8A6D7BBD1995703C890B423CA6B7833CFE882EBDF7ACDC3C0BE1A43C4942BC3C2914A23D84D738BD44AC003D94EB9B3C54F8073E637A253DA10C2D3E56E6A3BDCB1E563DD6B888BD558258BDE88B3D3D4778BF3DCF5F133EFF2703BD05AAD4B998D87EBB261475BD3F50BE3CC3A5E4BD53AA643D3F8C3B3CFF589BBD0CC740BC3F01B43D081BE43CD4C3F0BC492EC83D820146BD90AB72BCF80BE03A3A01FF3BCA1E153DE2757FBDD207F63CB96291BD8841A6BB0066B33D12593EB89703B53C3FE459BDD3EF103D815BBF3CA673223D6CC6B93D4842EA3D8940FA3D16899A3D647C57BC18708E3CDE90F3BCB0FFB03D178CFDBD7AA5083D8A6B11BC01C087BC81D9713D786402BDA4625DBC');
INSERT INTO "vectors" VALUES(26,'bob',X'E3FD62BD2A5BCEBC73B8B9BDE3FD62BDE5FD623DBC15253D1867AF3D2A5BCE3C0573903D9BA077BD74B839BD057390BD9DA077BD0573903DBD1525BDBC15253D1867AF3D73B839BD9BA077BD60C49ABD0EED1F3EC215A5BBC515A53B98A0773C2A5BCE3CBC15A53C86ACD8BD0573903DBC1525BD9BA077BD2F5BCEBCBA1525BC2B5BCE3C2B5BCE3CB815A5BB057310BD2A5BCEBC74B8393D0573903DBD15A5BC2D5BCEBCBC15A5BB057310BE285BCE3CBD15A53CBF1525BC73B839BDBF15A53B73B8B93D60C49ABD9BA0F73D9BA0773DB815A5BB60C49A3DBF15A53BE5FDE2BD86ACD8BDBC1525BCB815253CBC15253CE3FD623DBF15253CE3FD62BD2A5BCE3C73B8B9BDBC1525BCBD1525BD9BA077BD564A0B3E36D55D3EBC1525BC98A077BDBF15253CB81525BC74B8B9BD74B8B9BDBC15253DBF15A53B99A0F7BC99A077BDBC15A53BE2FD62BDB815A5BB9BA0F73D75B839BD2A5BCE3C057390BDBC1525BD0573903DBD15A53CBF15253C2D5BCEBC99A077BD9BA0F7BDBC15A53BB81525BCBC1525BD74B8B9BD60C49ABDBC15A5BB2A5BCEBC73B8B9BDBC1525BD86ACD8BDC515A5BB73B8B9BD2B5BCEBC73B8B93D73B8B93D98A077BDBC15253D98A0773C74B839BDBF1525BCBD1525BDB81525BCBC1525BDE2FDE23D2B5B4EBDBC1525BDE2FD623D99A077BDB815253CE3FD623D2B5B4EBD98A0773D98A0F73CBC1525BD057310BD9BA0773D1867AFBDE5FD62BDB815A5BB9BA077BDB81525BC2B5BCEBDC515A5BB1867AFBDE5FD623DBC15253C2A5BCEBCBC1525BCBD1525BCB815253CB815A5BB057390BDBC1525BD73B8B93DE3FD62BDE3FD62BDBC15253C18672FBEBA15253C057310BDBC15253C2B5BCE3CFBF800BEBD15253CBD15A5BD2A5BCEBC2B5B4EBDE3FD62BD2B5BCEBDBC15A53D60C49A3D9BA0F7BD75B8B93DB815253C2A5BCE3CBC15253D98A0F7BCCF09C4BD88ACD83D2B5BCE31BF1525BCBC15253D60C49ABDBC15253C60C49A3D74B8B9BD98A0F7BC057390BDE3FD62BD9BA0F73C2B5BCEBCBD15A53D057310BDBF15A53B057390BD057310BDBC1525BCE3FD62BD86ACD83D2B5BCE3C2B5BCE3CE2FD623D74B8393DBC1525BCE2FDE23D2A5BCE3C73B8B93DBC15253D0673103DE3FD62BD60C49ABD1867AF3D9BA0773DE3FD623D73B8393D9BA0F73D2B5B4E3D057390BDBD15A53C73B8B93D2B5BCE3CBE15A5BCBC1525BCBC15253D2B5B4EBD057390BD2B5BCE3CE2FD623D2A5BCE3C057390BDB81525BC60C49A3D96A077BC2D5BCE3CBE15A5BC86ACD83D9BA077BDE3FD62BDBC1525BDBF15A5BBBD1525BD18672F3E73B8393D2D5B4EBDBD15A53CBA1525BC21E13E3E2B5BCE3D73B8B9BDC21525BC98A0F7BC86ACD8BDBC15253C73B839BD99A0773DBC15A5BC0573903D2B5BCE3CCF09C43D73B8393DBF15A5BB0573103D');
INSERT INTO "vectors" VALUES(27,'bob',X'DEDD88BD3209C83DDEDD88BD176513BD1765133D6A90D23C8473A83BDEDD88BD176513BD176513BD8473A8BBDEDD883DDEDD883DDEDD88BDDEDD88BD176513BDDEDD883D3209C8BD176513BD1765133D8473A8BB1765133DDEDD883D176513BD8473A8BBDEDD883DDEDD88BDDEDD88BDDEDD883D176513BD176513BD6A90D23CDEDD88BD8473A83B8473A8BBDEDD883DDEDD88BD429A033E8473A8BBDEDD883D1765133D3209C83D3209C8BD429A033E3209C8BD3209C8BD3209C8BD8473A83BDEDD88BD1765133D176513BD1765133D176513BDDEDD88BD176513BDDEDD88BD1765133D3209C8BD1765133DDEDD883D1765133D429A03BE176513BD8473A8BBDEDD88BD176513BDDEDD88BD8473A83B1765133D6A90D23C3209C8BD3209C8BD1765133D429A033E176513BD3209C8BD8473A8BB8473A83B3209C8BD1765133D6A90D23C1765133D176513BD3209C83DDEDD88BDDEDD88BD1765133D3209C83D8473A8BBDEDD88BD1765133D1765133D3209C8BD1765133DDEDD88BD6A90D23CDEDD883DDEDD883D3209C8BD3209C8BD8473A83B176513BDDEDD88BDDEDD883D176513BD1765133DDEDD883D3209C8BD8473A8BBDEDD883D8473A8BB3209C83D176513BD1765133D176513BD1765133DDEDD88BDDEDD88BD3209C83DDEDD883D6A90D23C176513BD176513BDDEDD883D8473A8BB176513BDDEDD883DDEDD883D176513BD8473A8BB429A03BE176513BD1765133D3209C8BD8473A83B176513BD8473A8BB3209C8BD1765133D6A90D2BCDEDD883D176513BDDEDD883D1765133D8473A83B1765133D3209C8BD176513BDDEDD88BD8473A8BB176513BDDEDD88BD3209C83D1765133D8473A8BB1765133DDEDD88BD176513BDDEDD883D3209C8BD3209C8BD8473A83BDEDD88BD8473A83B8473A83B3209C83D429A033EDEDD88BDDEDD883DDEDD883D3209C83D1765133D176513BD176513BDDEDD88BD1765133DDEDD883D3209C83D176513BD429A033E176513BD8473A83B8473A8BBDEDD88BD1765133DDEDD883DDEDD88BDDEDD88BDDEDD88BD1765133DDEDD883D1765133D6A90D2BC1765133D176513BD8473A8BBDEDD88BD176513BD6A90D23C176513BD3209C83D1765133D8473A83B1765133D1765133D8473A83B3209C83D3209C83D176513BDDEDD88BD3209C83D8473A83B3209C8BD8473A8BB8473A8BB3209C83D3209C83DDEDD883D176513BDDEDD883DDEDD88BDDEDD883D3209C83DDEDD883DDEDD883DDEDD883D3209C83DDEDD88BDDEDD883D3209C8BDDEDD88BD429A03BE176513BD176513BD1765133D1765133DDEDD883D1765133DDEDD883DDEDD88BD3209C8BD176513BD1765133DDEDD88BDDEDD883D1765133DDEDD88BD1765133DDEDD88BD3209C8BDDEDD88BD3209C8BDDEDD88BD1765133D8473A8BBDEDD88BD');
INSERT INTO "vectors" VALUES(28,'bob',X'3BF469BD3BF469BD3BF4693DC829BB3C3BF4693DC929BB3DC829BB3C3BF469BD3BF469BDC929BBBDC829BBBCC929BB3DC829BBBCC929BBBD3BF4693DC929BB3DC929BB3D3BF469BDC829BB3C3BF4693D3BF4693DC829BBBC3BF4693D3BF469BD3BF469BD3BF4693D3BF469BD3BF4693D3BF469BD3BF469BDC929BBBDC829BBBCC929BBBDC829BBBCC929BB3DC829BB3C3BF4693DC929BBBDC829BBBCC929BB3DC929BB3D3BF4693DC829BB3C3BF469BDC829BBBCC929BBBD3BF4693DC929BB3D3BF4693D3BF469BD3BF469BDC829BB3CC929BB3D3BF4693D3BF469BDC829BB3C3BF4693DC929BBBDC829BB3CC929BBBD3BF4693DC829BB3CC829BBBC3BF469BDC829BBBCC829BBBC3BF469BD3BF4693DC929BBBDC829BB3CC829BB3C3BF469BDC829BB3CC929BBBDC929BB3D3BF469BD3BF4693D3BF4693DC929BB3DC829BBBCC829BB3CC829BB3C3BF469BD3BF4693DC929BBBD3BF4693DC929BB3D3BF469BDC829BB3CC829BB3C3BF4693DC829BB3C3BF469BDC929BBBDC829BB3CC929BBBD3BF4693D3BF469BDC829BBBCC829BB3CC829BBBCC829BB3CC829BB3C3BF4693D3BF469BDC929BBBDC929BBBD3BF469BD3BF4693DC829BB3CC929BBBDC929BBBDC829BBBC3BF469BD3BF4693D3BF469BDC929BB3DC829BBBCC829BB3C3BF469BDC829BB3C3BF4693DC929BB3D3BF469BDC929BBBD3BF4693D3BF4693DC829BB3CC829BB3C3BF469BD3BF4693D3BF4693DC829BB3CC829BB3CC829BBBCC929BB3D3BF469BD3BF4693D3BF469BD3BF469BDC929BBBDC829BB3CC929BB3DC929BB3DC929BB3DC929BBBDC929BBBDC829BBBCC829BB3CC929BBBD3BF469BDC929BBBD3BF4693DC829BB3CC829BBBCC929BB3DC929BB3D3BF469BD3BF469BDC929BB3D3BF4693DC929BBBD3BF4693DC829BBBC3BF4693D3BF4693D3BF469BD3BF469BD3BF4693D3BF469BD3BF469BDC929BB3DC829BBBC3BF469BD3BF469BD3BF4693D3BF4693D3BF469BD3BF469BD3BF4693D3BF469BD3BF4693DC829BBBCC929BB3D3BF4693DC929BB3DC929BB3DC829BBBCC929BB3DC829BB3C3BF4693D3BF469BDC829BBBC3BF469BDC929BBBD3BF469BD3BF4693DC929BBBD3BF4693DC929BB3D3BF4693DC929BB3DC929BB3D3BF4693DC929BB3DC929BB3D3BF4693DC829BBBCC829BBBC3BF469BD3BF4693D3BF469BD3BF4693D3BF469BD3BF469BD3BF469BDC929BBBDC829BB3CC829BB3CC929BB3DC929BBBDC929BB3D3BF469BD3BF4693DC929BBBDC929BBBD3BF469BDC929BBBD3BF469BD3BF469BDC929BBBD3BF469BDC829BB3CC829BB3CC829BBBC3BF469BDC929BBBD3BF4693D3BF469BD3BF4693D3BF469BD3BF4693DC829BB3C3BF469BD3BF469BDC829BBBC3BF469BDC929BBBDC829BB3C3BF469BDC829BB3CC929BB3DC829BBBCC929BBBDC829BBBC3BF4693D');
INSERT INTO "vectors" VALUES(29,'ada',X'C2D332BDB8A1D0BD20F51EBD1BF51E3CAD6F6EBD1EF51E3D0B915ABD66B2C6BC7C168B3D1EF51EBD0B915ABDAF6FEEBDAF6FEE3D22F59E3C7B168BBDAC6F6E3CC2D3B2BD66B2C6BC20F59EBC1FF59E3C68B2C6BD21F59EBB7C168BBD20F51EBD66B2C6BC21F51E3C1FF51E3DAD6F6EBDAD6F6E3DCB05953D20F59E3C21F59EBB20F51EBD66B2C6BCCD0595BDAD6FEE3DCE0515BE1FF59E3C1EF51E3C5D80E4BD66B2C6BC1FF59EBC20F51EBDAF6FEE3D0B915A3DC2D3B2BDC2D3B23D20F51E3CFF5EF8BDCD0595BDAC6FEE3C1DF51EBC1FF59EBD66B2C6BD1EF51EBCC2D3B23DCD0595BD76FD19BE66B2C6BC20F51EBDC2D3323D7C168B3D66B2C63C20F51EBDAD6F6EBDB8A1D03D1FF51EBDC3D3B2BDCD0595BDAD6F6EBD20F51E3D21F59EBBCC0595BD0B91DA3D21F59E3C7C168BBD5D80E43D1EF51EBC66B2C63C21F59EBB21F51EBC20F51E3D71E428BEAC6FEEBC76FD193E66B2C63C1DF51E3C1EF59E3B0B915A3DB8A1D03D20F51EBCC2D3B23D68B2C6BD0B91DABDAF6F6EBDAD6FEEBC0B915ABDD21E063E1EF51E3D21F59EBBCD05153E1EF51EBD76FD19BE66B2C6BC20F51EBD1FF59E3C1DF51E3C1EF51E3D21F59EBC7C168BBD20F51E3CB8A1D0BDC4D3B2BD20F51E3D1EF51EBC0B915A3D1CF59EBCCD0595BD66B2C6BCD21E06BEC2D3B2BD24F59EBB20F59E3C1EF51EBDC2D332BD21F59E3C1FF59E3CC2D332BDCC0595BD20F51E3D64B2C6BCC2D3323D66B246BD20F59EBC0C915A3D66B2C6BC66B2C6BCCC0595BDC3D3B2BDC3D3B23DAD6F6EBDC2D3323D292701BE66B2C63C0B915A3DAD6FEEBD1DF51EBC66B2C6BCCD05953DAF6F6EBD0B915ABD1EF51EBC20F51E3D66B2C63CB9A1D03DAF6F6EBD1BF51E3CAC6F6E3CC2D332BDAF6F6E3DC2D332BD0B915ABDAD6FEE3C7C160B3D7C160BBDC2D3323DC2D3B23D66B2C6BC66B2C6BC20F51E3DAD6FEEBC1DF51E3C21F59E3BC2D3B23D66B2C6BC7C168B3D1DF51E3C66B2C6BC21F59E3B66B2C6BCAF6F6EBD21F59EBC66B2C6BC1EF51EBC21F59EBB20F51EBDCD0595BDB9A1D0BD5D80E4BD09915ABD66B2C63C7C168BBD1FF51EBDC2D3323D7C168B3DB8A1D03D15C3BCBDAF6FEE3C1EF51E3D66B2C63C7C168BBD1DF51E3CC2D332BD0B91DA3D70E4283E6AB2C63C21F59E3B23F51EBC7C160BBD20F51E3DAF6FEE3C21F59E3B66B2C6BCC2D3B23D09915ABDB8A1D03DCC05953D0B915ABDAD6FEE3D1EF59E3BAD6FEEBCAF6FEE3D21F51EBC21F59E3BAC6F6EBC20F51EBCAC6FEE3C1EF51EBD21F59EBB71E4A8BD1DF51EBD71E4A83D76FD19BE24F59EBBAF6FEEBCAD6F6EBD1EF51EBC1EF51EBCAF6FEEBC20F51EBD1BF59E3B1FF51EBD0B91DA3D1EF51EBD7C168B3D1DF51E3C7C168B3D66B2463D66B2C6BCAC6FEE3C66B2C63C7C168B3DC2D3B23D70E4A83DAF6F6E3DC2D3323D');
INSERT INTO "vectors" VALUES(30,'ada',X'F86854BD323525BDF76854BD5DCE81BD14CF3C3EF66854BD5ECE01BE13CF3C3E13CFBCBC14CFBCBD4F9B8DBC13CFBCBC000000004F9B0D3D406899BDD902EC3113CFBC3BF86854BD519B8D3C406899BD3235253D313525BDF768543D13CFBC3C4F9B8DBCF86854BD4F9B0D3D4F9B8D3C14CFBC3D069CC8BD17CFBC3B4F9B0DBD000000003135253D406899BD4F9B0D3D10CFBC3BD902ECBD4F9B0D3DD6B407BE323525BD509B0D3D13CFBCBC12CFBCBCD8026C3D4F9B0D3DD6B4073E313525BDE935E03D313525BDF868543D3135253D10CFBCBB3135A5BD4F9B8DBCD9026CBD4F9B0D3D3135253D406899BD3135253D2402B1BD3135253DD902ECB14E9B8D3C313525BDF56854BD4F9B0DBD406899BD4F9B8DBD4F9B0DBD313525BDD9026C3D4168993D313525BD4F9B0D3D3135A5BDE935E03D17CF3CBCD8026CBD313525BDF768543D416899BD12CFBC3C4F9B8DBC00000000D9026C3D4F9B8DBDD9026C31519B8D3C17CF3CBC12CFBC3C4F9B8DBCF66854BDD802ECBDF76854BD3135A5BDD9026CBD4F9B8DBC4068993D3135A53D416899BD000000004F9B8DBC069CC83D5DCE81BD406899BDD702EC3CF76854BD4F9B8DBD4F9B0DBD3135253D059CC83DD9026C3D4E9B8DBC406899BDD902ECBDD9026C3D4F9B8DBC4F9B0D3DE735E0BD509B8D3C4F9B0D3D13CFBCBCD6B4073E4F9B8D3C4F9B8DBD313525BD4F9B8D3CF56854BDF76854BD519B8DBC406899BD14CFBC3D4F9B0DBD000000004F9B8D3D4F9B8D3CD9026C31519B8DBC509B0D3D4F9B8DBC2302B1BDD9026C3DD9026C3DD8026C3DD9026CB1000000004F9B8DBC3135253D4F9B8DBCE835E0BD416899BDD9026CBDD9026C3113CFBCBD4E9B8D3C509B8DBC313525BD4068193E406899BD4F9B0DBD4F9B8DBCD902ECBDD9026CBDD9026C3D000000004068993D4F9B8DBC0CCFBC3B406899BD12CFBC3C10CFBCBB416899BD13CFBCBC13CFBCBD4068993D313525BD4E9B0D3D00000000D902EC304F9B0DBDD902EC3D14CFBCBD13CF3CBCE935E0BDAB1B2B3E509B8D3C14CFBCBD4F9B0DBD406899BD4F9B0D3D4F9B0DBD416899BD14CFBCBD3135253DD9026CBD13CFBC3B3135A5BD0000000013CFBCBD13CFBC3C4F9B8D3C4E9B8D3C000000004168193E0CCFBC3B4F9B0DBD13CFBC3CD8026C3DE935E0BD4E9B8D3C4068993D3135A53D4F9B0DBD4F9B8D3C4F9B0D3D4168993DAB1B2B3ED8026C3D4F9B0D3D13CFBC3D406899BDD902ECB0D9026CBD13CF3C3D17CF3CBC12CFBC3C13CFBC3C13CFBCBD4F9B8DBCF76854BD4F9B8D3C4F9B0D3DAA1B2BBE509B8D3CD9026CBD4F9B0DBD4F9B8D3CF768543DD902ECBD4F9B8DBC4C9B8DBC4F9B8D3D4F9B8D3C406899BD17CF3CBC4F9B0DBDD902ECB0313525BDE835E0BD313525BD5ECE01BE406899BD000000004F9B8DBC13CFBC3C');
INSERT INTO "vectors" VALUES(31,'bob',X'7816FEBD88CAB8BC7D70DBBD76167EBD7F70DB3D84CA38BCE4978ABD7816FE3D84CAB8BCE6978ABCE3970ABD33B121BDE2978ABCE4970A3D8C2496BD28FD663DD5E34FBDE5970ABDE4970A3D85CAB8BD35B1213D33B121BD88CA383C81CAB83B84CAB83CE4978ABD8C24963D27FDE630E4970A3D86CAB8BC78167E3DE4970ABDE4978ABC34B1213D8C2496BD34B121BDD6E34FBD27FDE6BD34B121BD90D104BE00000000E5970A3DE4978A3CE4978A3CE4978ABCE4970A3D8C24163E000000007816FE3D34B121BD8ACA383C2E57C43DD6E34F3D76167EBD84CAB83C27FD66BDE4970A3D86CAB83C90D104BE84CAB83CDE3DADBD27FD663D28FD66BD35B121BD84CAB8BC84CAB83BE3970ABDE4978ABCD6E34FBD84CAB83CE4978A3C000000008D24963D27FD66BDE4970A3D85CAB8BC7816FE3D28FDE6BC33B121BD86CAB8BC83CAB8BC8C2416BE84CAB83C26FD663D8C24963D0000000086CA38BC27FD663DE6978A3C88CA38BC83CAB83C33B1213D7D70DBBD2E57C4BD83CAB83C33B121BD35B121BDE3970ABD8C24963D84CAB83CE6978ABC34B121BD26FD663D34B1213D84CAB8BCE5978ABC84CA383CE4978ABD7816FEBDD5E34FBD34B1213D34B1213D90D1043EE2978ABCE4978ABC27FD66BD8C24963D26FD663D84CAB83D84CAB8BD84CAB83D84CAB8BC33B121BD27FDE63DE4978A3C7ACAB83B2D57C4BD8C24963D8FCAB83BE4978ABD8D2496BD27FDE6BD8D24963D81CAB83B27FD663DD6E34F3D84CAB8BCE1978ABC84CAB8BDE5970A3D34B1213DE4978ABD8C24963D8C24963D26FD663D8C2496BD8C2496BDE3970ABD34B1A13DE4978ABCD5E34FBD28FD66BDE4978ABC27FD663190D104BE00000000E4970ABD27FDE6308C24163EE4978ABC33B1213DE3978ABC27FDE6BD90D104BE8C24963D27FD66BD8C24963D34B1213D76167E3DE4978ABC34B1213DE4970A3DE6978ABC84CAB8BCE6978ABC85CAB83D34B121BD8C24963D0000000027FDE630E4970ABD90D1043ED6E34FBD25FDE6BC7F70DBBD8070DB3D85CAB83D85CAB8BD7F70DBBD27FD66BDE4970A3DE4970ABDE4970ABD85CAB8BD34B1A13D35B121BDD5E34FBD34B1A1BD27FD66BD8C2496BDE5978ABCE4978A3C27FDE6B027FD66BD8D24163EE4970ABD84CAB8BD84CAB83C000000007F70DBBDE2978A3CE4978A3C76167E3D84CAB83C26FD66BDE4978A3CE4970A3D85CAB83D26FD663D8D24963D84CAB83D8C2496BD27FD66BD27FDE6B088CA38BC88CA38BCE4978ABC84CAB83CE4978ABC0000000086CA38BC84CAB83DE4978A3C887727BE8C24963D27FD66BDD6E34FBD34B121BD7816FE3D27FD66BD26FD663D27FD663DD5E34F3DE4978A3C27FD66BD27FDE6BCE6978ABC8C2496BDE3970A3D7E70DBBDE2978A3C897727BE27FD66BD26FD66BD34B1213D84CAB83C');
CREATE TABLE work_errors (
	user_id TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	error TEXT NOT NULL, 
	PRIMARY KEY (user_id)
);
CREATE TABLE workers (
	owner TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	until BIGINT NOT NULL, 
	state TEXT NOT NULL, 
	PRIMARY KEY (owner)
);
CREATE INDEX ix_drafts_user_id ON drafts (user_id);
CREATE INDEX ix_streams_user_id ON streams (user_id);
CREATE INDEX units_user ON units (user_id, seq);
CREATE INDEX units_stream ON units (stream_id, position);
CREATE INDEX ix_hierarchies_user_id ON hierarchies (user_id);
CREATE INDEX episodes_text_hash ON episodes (user_id, text_hash);
CREATE INDEX episodes_user ON episodes (user_id, seq);
CREATE INDEX ix_vectors_user_id ON vectors (user_id);
CREATE INDEX postings_unit ON postings (unit_seq);
CREATE INDEX ix_nodes_user_id ON nodes (user_id);
CREATE INDEX ix_node_units_unit_seq ON node_units (unit_seq);
CREATE INDEX ix_node_units_user_id ON node_units (user_id);
CREATE INDEX personas_label ON personas (hierarchy_id, level, label);
CREATE INDEX personas_node ON personas (hierarchy_id, level, node);
CREATE INDEX ix_personas_user_id ON personas (user_id);
CREATE INDEX ix_links_user_id ON links (user_id);
CREATE INDEX ix_unit_sources_episode_seq ON unit_sources (episode_seq);
CREATE INDEX ix_history_episode_seq ON history (episode_seq);
CREATE INDEX ix_jobs_user_id ON jobs (user_id);
CREATE INDEX jobs_lane ON jobs (kind, lane, state);
CREATE INDEX jobs_state ON jobs (state, seq);
CREATE INDEX ix_entities_user_id ON entities (user_id);
CREATE INDEX ix_statements_episode_seq ON statements (episode_seq);
CREATE INDEX statements_object ON statements (namespace, object_key, said_at, episode_seq, start);
CREATE UNIQUE INDEX statements_id ON statements (id);
CREATE INDEX ix_statements_user_id ON statements (user_id);
CREATE INDEX statements_group ON statements (namespace, subject, relation);
CREATE INDEX statements_subject ON statements (namespace, subject, said_at, episode_seq, start);
CREATE INDEX ix_unresolved_user_id ON unresolved (user_id);
CREATE INDEX decisions_group ON decisions (namespace, subject, relation, topic);
CREATE INDEX ix_decisions_statement_seq ON decisions (statement_seq);
CREATE UNIQUE INDEX decisions_id ON decisions (id);
CREATE INDEX ix_decisions_user_id ON decisions (user_id);
CREATE UNIQUE INDEX skills_id ON skills (id);
CREATE INDEX ix_skills_user_id ON skills (user_id);
CREATE INDEX ix_profile_user_id ON profile (user_id);
CREATE INDEX facts_id ON facts (id);
CREATE INDEX facts_group ON facts (namespace, subject, relation, topic);
CREATE INDEX facts_object ON facts (namespace, object_key);
CREATE INDEX ix_facts_user_id ON facts (user_id);
CREATE INDEX ix_fact_sources_user_id ON fact_sources (user_id);
CREATE INDEX ix_fact_sources_statement_seq ON fact_sources (statement_seq);
CREATE INDEX unit_changes_user ON unit_changes (user_id, generation);
CREATE INDEX ix_unit_statements_statement_seq ON unit_statements (statement_seq);
CREATE INDEX ix_unit_statements_user_id ON unit_statements (user_id);
CREATE INDEX ix_fact_namespaces_user_id ON fact_namespaces (user_id);
CREATE INDEX ix_derived_texts_user_id ON derived_texts (user_id);
CREATE INDEX derived_texts_part ON derived_texts (namespace, kind, part);
CREATE UNIQUE INDEX derived_texts_id ON derived_texts (id);
CREATE INDEX ix_derived_sources_user_id ON derived_sources (user_id);
CREATE INDEX ix_derived_sources_episode_seq ON derived_sources (episode_seq);
CREATE INDEX ix_derivations_user_id ON derivations (user_id);
CREATE INDEX ix_derived_links_source_seq ON derived_links (source_seq);
CREATE INDEX ix_derived_links_user_id ON derived_links (user_id);
CREATE INDEX memory_records_user ON memory_records (user_id, type);
CREATE INDEX record_entities_key ON record_entities (user_id, "key");
CREATE INDEX ix_record_resolutions_by_seq ON record_resolutions (by_seq);
CREATE INDEX ix_record_resolutions_user_id ON record_resolutions (user_id);
CREATE INDEX ix_derived_omissions_source_seq ON derived_omissions (source_seq);
CREATE INDEX ix_derived_omissions_user_id ON derived_omissions (user_id);
CREATE INDEX user_leases_until ON user_leases (name, until);
COMMIT;
