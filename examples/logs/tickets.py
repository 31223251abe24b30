"""A model: so many tickets are sold, then there is a pause, and then the next roll may be opened."""

from quiesce_model import Left, Machine, action, constant, left, upto


class Tickets(Machine):
    """Time is in milliseconds."""

    most: int = constant(3)
    pause: int = constant(2_000)

    sold: int = upto(lambda c: c.most)
    rest: Left = left(lambda c: c.pause)

    @action(n=(1, 2))
    def sell(self, n: int) -> None:
        self.require(self.sold + n <= self.most, "TKT-1")
        self.sold += n
        if self.sold == self.most:
            self.rest.set(self.pause)

    @action()
    def open(self) -> None:
        """The next roll; the desk says nothing of it."""
        self.require(self.sold == self.most)
        self.require(self.rest.over, "TKT-2")
        self.sold = 0

    @action()
    def close(self) -> None:
        """The desk closes for the day."""
        self.require(self.sold == 0, "TKT-3")
