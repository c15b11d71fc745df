/* SPDX-License-Identifier: MIT */
/* What the agent remembers between two starts: for each recording and sink up to where everything has arrived. The
 * recordings themselves are the queue, so this is all there is to keep. A small text file, replaced atomically; a
 * lock beside it keeps a second agent out. One thread at a time. */
#ifndef SL_AGENT_STATE_H
#define SL_AGENT_STATE_H

#include "agent/agent_rank.h"

#define SL_AGENT_STATE_NAME "cursors"
#define SL_AGENT_LOCK_NAME  "lock"

typedef struct sl_agent_cursor {
    uint64_t sink; /* sl_agent_sink_id */
    int64_t at_ms; /* everything up to here has arrived */
    bool is_done;  /* the recording has ended and all of it has arrived */
} sl_agent_cursor;

typedef struct sl_agent_entry {
    sl_agent_key key;
    int64_t seen_ms; /* when the recording was there last, since 1970; old entries are forgotten */
    sl_agent_labels place; /* where its process ran: after its end nobody knows */
    SL_VEC(sl_agent_cursor) cursors;
} sl_agent_entry;

typedef struct sl_agent_state {
    SL_VEC(sl_agent_entry) entries;
} sl_agent_state;

/* Takes the lock of the folder, made where it is missing. SL_E_BUSY names the process that has it. *lock_fd is the
 * caller's: closing it gives the lock back. */
sl_status sl_agent_state_lock(const char *folder, int *lock_fd, sl_error *err);

/* Reads <folder>/cursors; none is an empty state. SL_E_FORMAT names the line. */
sl_status sl_agent_state_load(sl_agent_state *state, const char *folder, sl_error *err);

/* The same from a text, for tests; `name` is for messages. */
sl_status sl_agent_state_parse(sl_agent_state *state, const char *text, size_t len,
                               const char *name, sl_error *err);

/* Forgets what was not seen for a week. */
void sl_agent_state_prune(sl_agent_state *state, int64_t now_ms);

/* As a text, owned by the caller, and that text into the folder. They are apart so that the disk is written without
 * the lock that guards the state. */
sl_status sl_agent_state_print(const sl_agent_state *state, char **text, size_t *len,
                               sl_error *err);
sl_status sl_agent_state_write(const char *folder, const char *text, size_t len, sl_error *err);

/* The entry of a recording, made when it is not there; NULL when memory ran out. */
sl_agent_entry *sl_agent_state_entry(sl_agent_state *state, const sl_agent_key *key);
const sl_agent_entry *sl_agent_state_find(const sl_agent_state *state, const sl_agent_key *key);

/* The same for the cursor of a sink. */
sl_agent_cursor *sl_agent_entry_cursor(sl_agent_entry *entry, uint64_t sink);
const sl_agent_cursor *sl_agent_entry_find(const sl_agent_entry *entry, uint64_t sink);

/* A sink by its form and URL. */
uint64_t sl_agent_sink_id(const char *form, const char *url);

void sl_agent_state_fini(sl_agent_state *state);

#endif
