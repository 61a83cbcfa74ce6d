"""Series: releases of the same people over several periods, and their secret state."""
