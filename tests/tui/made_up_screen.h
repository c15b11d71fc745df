/* SPDX-License-Identifier: MIT */
/* A screen whose facts are made up: the same on every machine, with long names, unknown figures, missing ranks. */
#ifndef SL_MADE_UP_SCREEN_H
#define SL_MADE_UP_SCREEN_H

#include "tui/view/view.h"

/* Never freed: the program ends. Aborts when memory runs out. */
sl_screen *made_up_screen(void);

#endif
