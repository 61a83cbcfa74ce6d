"""The pictures of the protocol's transition tables, as they stand in docs/collect-states.md.

Draw them again after a change of a table: python packages/collect/tests/helpers/draw_collect_tables.py
"""

import re
from pathlib import Path
from typing import Any, Final

from shoal_collect.mix import member_states
from shoal_collect.roles import group_session_states, lottery, participant_round_states
from shoal_collect.server import round_states
from shoal_collect.transitions import Table

PAGE: Final = Path(__file__).parents[4] / "docs" / "collect-states.md"
TABLES: Final[dict[str, Table[Any, Any, Any]]] = {
    "round": round_states.TABLE,
    "lottery": lottery.TABLE,
    "participant": participant_round_states.TABLE,
    "session": group_session_states.TABLE,
    "member": member_states.TABLE,
}


def picture(name: str) -> str:
    """What stands between the markers of a table."""
    return f"<!-- table: {name} -->\n```mermaid\n{TABLES[name].mermaid()}```\n<!-- end of table -->"


def pictures_on_the_page() -> dict[str, str]:
    """Each table's picture as the page has it."""
    found = re.findall(r"<!-- table: (\w+) -->.*?<!-- end of table -->", PAGE.read_text(), re.DOTALL)
    texts = re.finditer(r"<!-- table: \w+ -->.*?<!-- end of table -->", PAGE.read_text(), re.DOTALL)
    return dict(zip(found, (one.group() for one in texts), strict=True))


if __name__ == "__main__":
    page = PAGE.read_text()
    for name, there in pictures_on_the_page().items():
        page = page.replace(there, picture(name))
    PAGE.write_text(page)
