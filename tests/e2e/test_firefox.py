"""Each view of the demo opens in Firefox, shows its heading and logs no error."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.conftest import PLUGIN, VIEWS
from tests.e2e.firefox import Firefox, firefox

#: Text of the selected link of the sidebar and of the view, once the view is ready. Native promise of an async function:
#: TensorBoard replaces the class Promise.
TEXT = """(async () => { for (;;) {
  const page = document.querySelector('iframe[src*="name=%s"]')?.contentDocument;
  if (page?.querySelector('#shell[data-view="%s"] .view-frame[data-state="ready"]'))
    return page.querySelector("nav.side a[aria-current]").innerText + "\\n" + page.querySelector("main").innerText;
  await new Promise(done => setTimeout(done, 100)); } })()"""


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    with firefox(tmp_path_factory.mktemp("firefox")) as running:
        yield running


@pytest.mark.full
@pytest.mark.parametrize("view", VIEWS)
def test_view_opens(tab: Firefox, demo_server: str, view: str) -> None:
    tab.open(f"{demo_server}#{PLUGIN}&p.{PLUGIN}.view={view}")
    heading, _, text = tab.evaluate(TEXT % (PLUGIN, view)).partition("\n")
    assert view.split("_")[0] in heading.lower()
    assert text.strip()
    assert tab.errors == []
