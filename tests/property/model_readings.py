"""Where the contract can be read two ways: one switch each, set to the reading the project documents.

The model was written from the contract alone; a switch exists only where the package's reading is as lawful.
"""

from __future__ import annotations

# Section 3: methods of spans that never lived in the window together also count as mixed accounting.
MIXED_ACCOUNTING_OVER_TIME = True
# Section 3: a resync that asks for the pin of a span already pinned is judged, and alerted, like any other request.
RESTATED_PINS_ARE_JUDGED = True
# Section 2: the event_id of an event that a closed window ignores is remembered.
CLOSED_WINDOW_REMEMBERS_EVENT_IDS = False
# Section 4: beside `invalid_replacement`, the numbers and ids in `resolution` are compared too, although replacements
# that cover what is not compressed, or share an id, have no lawful meaning to reckon with.
RESOLUTION_OF_INVALID_REPLACEMENTS_IS_COMPARED = False
