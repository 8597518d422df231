-- SPDX-License-Identifier: MIT
-- Layout of kernels-v1.db. The library embeds this file and runs it as it stands on a new database;
-- an existing database whose schema differs in any way is set aside. A change here is a new version:
-- raise user_version and the number in the file name together (src/cache/disk.hpp).

PRAGMA application_id = 1179667534;  -- "FPLN"
PRAGMA user_version = 1;

-- Compiled kernels. A row is used only when its digest holds.
CREATE TABLE kernel (
  id       INTEGER PRIMARY KEY,
  key      BLOB NOT NULL UNIQUE,  -- SHA-256 of the key's named fields
  key_text TEXT NOT NULL,         -- the same fields for people, compared on every hit
  meta     TEXT NOT NULL,         -- what the loader needs: entry symbol, solver, required ISA, ...
  coding   INTEGER NOT NULL,      -- how blob is stored: 0 as it is, 1 Zstandard
  size     INTEGER NOT NULL,      -- bytes of the blob once decoded
  blob     BLOB NOT NULL,
  digest   BLOB NOT NULL,         -- SHA-256 over all of the above, each with its length
  created  INTEGER NOT NULL       -- seconds since 1970, for people; nothing is decided by it
);

-- Order of use. Apart from `kernel`, because updating a row rewrites all of it, blob included.
CREATE TABLE usage (
  id   INTEGER PRIMARY KEY,  -- kernel.id
  seq  INTEGER NOT NULL,     -- logical clock: the highest was used last
  size INTEGER NOT NULL      -- bytes stored
);
CREATE INDEX usage_seq ON usage (seq);

-- Winners of tuning runs, keyed and verified like kernels.
CREATE TABLE tuning (
  id       INTEGER PRIMARY KEY,
  key      BLOB NOT NULL UNIQUE,
  key_text TEXT NOT NULL,
  value    TEXT NOT NULL,
  digest   BLOB NOT NULL,
  created  INTEGER NOT NULL
);
