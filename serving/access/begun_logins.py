"""Logins that wait for the provider's answer. A signed cookie binds each to one browser, and the answer counts once."""

import hmac
import secrets
from collections import OrderedDict
from dataclasses import asdict, dataclass

from itsdangerous import BadData, URLSafeTimedSerializer

PATIENCE = 600  # seconds that the provider has for an answer
REMEMBERED = 10_000  # answered logins, at most
SALT = "sundial.provider-login"  # what signs this cookie signs no session


@dataclass(frozen=True)
class BegunLogin:
    """back: query of the login page, which names where one came from."""

    state: str
    nonce: str
    verifier: str  # of PKCE
    back: str


class BegunLogins:
    def __init__(self, secret: str):
        self._signer = URLSafeTimedSerializer(secret, salt=SALT)
        self._answered: OrderedDict[str, None] = OrderedDict()  # by state

    def begin(self, back: str) -> tuple[BegunLogin, str]:
        """(a new login, what its cookie says)."""
        login = BegunLogin(secrets.token_urlsafe(32), secrets.token_urlsafe(32), secrets.token_urlsafe(48), back)
        return login, self._signer.dumps(asdict(login))

    def answered(self, cookie: str, state: str) -> BegunLogin | None:
        """The browser's login that the answer belongs to. None: there is none, it is too old, or it was answered before."""
        try:
            login = BegunLogin(**self._signer.loads(cookie, max_age=PATIENCE))
        except BadData:
            return None
        if not hmac.compare_digest(login.state.encode(), state.encode()) or login.state in self._answered:
            return None
        self._answered[login.state] = None
        if len(self._answered) > REMEMBERED:
            self._answered.popitem(last=False)
        return login
