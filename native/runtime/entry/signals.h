// Registration of the fatal signals' handler.
#pragma once

void ll_signals_start(void);
