"""The network: every cell of the table is a token, and so is every label of a row.

Features come in groups of four, one token for each group and row. Every label is a column of its
own, unknown in the queried rows. Layers alternate attention among the columns of a row and among
the rows of a column, where only known rows are attended to. Rows have no position, and columns
only a random name, drawn for each table: permuting rows, or columns with their names, permutes
the answer.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.prior_fitted.learner._weights import (
    GROUP,
    LARGEST,
    PENALTIES,
    USUAL_ROWS,
    VIEWS,
    Size,
)


def attend_columns(packed: Tensor) -> Tensor:
    """Attention of queries, keys and values (rows, columns, 3, heads, width).

    Returns (rows, columns, heads * width). The training has kernels of its own for it.
    """
    query, key, value = packed.permute(2, 0, 3, 1, 4)
    return F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)


class Block(nn.Module):
    """Attention among columns, attention to known rows, and a small network for each cell.

    Normalization has no weights: the products that follow have the same effect, and its gradient
    would be a fifth of a step.
    """

    def __init__(self, size: Size):
        super().__init__()
        width = size.width
        self.heads = size.heads
        self.attend_columns = attend_columns
        self.columns = nn.Linear(width, 3 * width, bias=False)
        self.columns_out = nn.Linear(width, width, bias=False)
        self.rows = nn.Linear(width, width, bias=False)
        self.rows_known = nn.Linear(width, 2 * width, bias=False)
        self.rows_out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)
        with torch.no_grad():
            for last in (self.columns_out, self.rows_out, self.down):
                last.weight *= 0.3

    def forward(self, x: Tensor, n_known: int, answers: int = 0) -> Tensor:
        """Cells after the block, shape (tables, rows, columns, width).

        With ``answers``, only the queried rows of that many last columns: nothing else of the last
        block is read.
        """
        tables, n, _, width = x.shape
        head = (self.heads, width // self.heads)
        kind = self.columns.weight.dtype
        y = self.columns(F.layer_norm(x, (width,)).to(kind)).view(tables * n, -1, 3, *head)
        x = x[:, :, -answers:]
        c = x.shape[2]
        y = self.attend_columns(y)[:, -answers:].reshape(tables, n, c, width)
        x = x + self.columns_out(y)

        y = F.layer_norm(x, (width,)).to(kind)
        y = y.transpose(1, 2).contiguous()  # (tables, columns, rows, width)
        asked = y
        if answers:
            asked, x = y[:, :, n_known:], x[:, n_known:]
            n -= n_known
        query = self.rows(asked).view(tables * c, n, *head).transpose(1, 2)
        y = self.rows_known(y[:, :, :n_known]).view(tables * c, n_known, 2, *head)
        key, value = y.permute(2, 0, 3, 1, 4)
        # among many rows the few that matter have to stand out
        sharp = math.log(n_known + 1) / math.log(USUAL_ROWS) / math.sqrt(head[1])
        y = F.scaled_dot_product_attention(query, key, value, scale=sharp)
        y = y.transpose(1, 2).reshape(tables, c, n, width)
        x = x + self.rows_out(y).transpose(1, 2)
        return x + self.down(F.gelu(self.up(F.layer_norm(x, (width,)).to(kind))))


class Network(nn.Module):
    """Logits of all labels of the queried rows of a table, in one pass."""

    def __init__(self, size: Size):
        super().__init__()
        self.size = size
        width = size.width
        self.cells = nn.Sequential(
            nn.Linear(GROUP * VIEWS, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )
        self.labels = nn.Sequential(
            nn.Linear(6 + 2 * len(PENALTIES), 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )
        self.cell_names = nn.Linear(size.name_width, width, bias=False)
        self.label_names = nn.Linear(size.name_width, width, bias=False)
        self.blocks = nn.ModuleList(Block(size) for _ in range(size.layers))
        self.head = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, 1))
        with torch.no_grad():  # names are noise until the network can use them
            self.cell_names.weight *= 0.1
            self.label_names.weight *= 0.1
        nn.init.zeros_(self.head[-1].weight)  # begin with the frequencies
        nn.init.zeros_(self.head[-1].bias)

    def forward(self, cells: Tensor, Y: Tensor, answers: Tensor, names: Tensor) -> Tensor:
        """Logits of the queried rows, shape (tables, rows - known rows, labels).

        Parameters
        ----------
        cells : tensor of shape (tables, rows, groups, 3 * GROUP)
            Groups of features, each with its views.
        Y : tensor of shape (tables, known rows, labels)
            1, 0, and NaN where unknown.
        answers : tensor of shape (tables, rows, labels, 2 * regressions)
            What regressions say about each label, and how much of it they explain.
        names : tensor of shape (tables, groups + labels, name_width)
            Random names of the columns.
        """
        kind = self.label_names.weight.dtype
        n_known, q = Y.shape[1:]
        base = base_logits(Y)
        told = torch.cat([_view_labels(Y, base, *cells.shape[1:3]), answers.to(base)], -1)
        names = names.to(kind)[:, None]
        x = torch.cat(
            [
                self.cells(cells.to(kind)) + self.cell_names(names[:, :, :-q]),
                self.labels(told.to(kind)) + self.label_names(names[:, :, -q:]),
            ],
            2,
        ).to(torch.promote_types(kind, torch.float32))  # sums of many small parts
        for block in self.blocks[:-1]:
            x = block(x, n_known)
        x = F.layer_norm(self.blocks[-1](x, n_known, answers=q), (self.size.width,))
        return self.head(x.to(kind)).squeeze(-1).to(base.dtype) + base


def base_logits(Y: Tensor) -> Tensor:
    """Logits of the frequencies of the labels, shape (tables, 1, labels)."""
    return torch.logit((Y.nansum(1, keepdim=True) + 0.5) / ((~Y.isnan()).sum(1, keepdim=True) + 1))


def _view_labels(Y: Tensor, base: Tensor, n: int, groups: int) -> Tensor:
    """Label cells as the network reads them: value, standardized, known or not, and of the table
    the frequency of the label and the numbers of known rows and groups of features.
    """
    known = ~Y.isnan()
    Y = Y.nan_to_num(0.0)
    frequency = base.sigmoid()
    standard = (Y - frequency) / (frequency * (1 - frequency)).sqrt()
    told = torch.stack([Y * 2 - 1, standard.clamp(-LARGEST, LARGEST), torch.ones_like(Y)], -1)
    told = F.pad(told * known[..., None], (0, 0, 0, 0, 0, n - Y.shape[1]))
    frequency = (base / 3).expand(-1, n, -1)[..., None]
    size = [math.log(Y.shape[1] / USUAL_ROWS) / 3, math.log(groups / 8) / 3]
    return torch.cat([told, frequency, *(torch.full_like(frequency, one) for one in size)], -1)
