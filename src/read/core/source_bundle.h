/* SPDX-License-Identifier: MIT */
/* Folders that a failing process left behind: the OOM bundles of this tool and of the Python tool
 * (events, metadata, environment, manifest; ours with trace.json and more). */
#ifndef SL_SOURCE_BUNDLE_H
#define SL_SOURCE_BUNDLE_H

#include "read/core/source.h"

struct sl_telemetry;

/* True when the path is a folder with an events.json in it. */
bool sl_bundle_is(const char *path);

/* The files that `diagnose` writes beside its telemetry_timeline.json: nobody misses them as inputs. */
bool sl_bundle_is_diagnose_file(const char *folder, const char *name);

/* Loads the folder as a trace of kind OOM bundle: from its trace.json or trace.json.gz where it has
 * one, else from its samples. A bundle without a manifest was cut off while it was written:
 * SL_E_TRUNCATED. */
sl_status sl_bundle_load(const char *path, const sl_load_options *options, sl_trace **out,
                         sl_error *err);

/* Internal to src/read: gives the set to the trace, which owns it from here on. */
sl_status sl__tm_attach(sl_trace *trace, struct sl_telemetry *set, sl_error *err);

#endif
