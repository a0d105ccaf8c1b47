"""The page of a served learner in a browser: it is live, needs no network, and asks for a token where one is needed."""

import os

import pytest

from browser import chromium, needs_chromium, playwright
from linsep import Client
from linsep.serve.server import Address, running

pytestmark = [needs_chromium, pytest.mark.compiled]


def test_the_page_shows_how_learning_goes(tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("0123456789abcdef\n")
    os.chmod(tokens, 0o600)
    at = Address(port=0, token_file=str(tokens))
    with running(tmp_path / "learner", address=at) as url, Client(url, token="0123456789abcdef") as client:
        client.learn([[1, 0], [0, 1]], ["a", "<b>bold</b>"])
        with chromium() as made:
            page, asked, said = made.new_page(), [], []
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda message: said.append(message.text))
            page.goto(url)
            expect = playwright.expect
            expect(page.locator("#state")).to_have_text("a token is needed; trying again", timeout=20_000)
            page.fill("#token", "0123456789abcdef")
            page.press("#token", "Enter")
            expect(page.locator("#examples")).to_have_text("2", timeout=20_000)
            expect(page.locator("#recent tbody tr")).to_have_count(2)
            expect(page.locator("#recent")).to_contain_text("<b>bold</b>")  # text, not markup
            client.learn([[2, 0]] * 150, ["a"] * 150)
            expect(page.locator("#examples")).to_have_text("152", timeout=20_000)
            expect(page.locator("#mistakes")).to_have_text(str(client.stats()["mistakes"]))
            expect(page.locator("#windows tbody tr")).to_have_count(1)
            assert len(page.locator("#errors").get_attribute("points").split()) >= 2
            assert all(each.startswith((url, "data:")) for each in asked)
            assert not [each for each in said if "401" not in each]
