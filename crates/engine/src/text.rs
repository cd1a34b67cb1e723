//! Text from servers, files and processes: made safe to show ([`display`], row 28) and free of secrets ([`Scrubber`], row 16).
