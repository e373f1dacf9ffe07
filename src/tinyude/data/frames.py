"""Tables and times as users have them (NumPy, pandas, polars, Arrow, xarray, dictionaries), as plain float64."""

from __future__ import annotations

import datetime
import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.errors import TinyUDEError, listed

Array = NDArray[Any]

_ALIKE = 0.75  # of difflib's ratio: a column of this likeness is a misspelt name, not another signal


def numbers(values: Any, names: Sequence[str], what: str) -> Array:
    """A table as float64. Columns with names are found by name; if any name is there, all must be.

    Parameters
    ----------
    values : array_like, data frame, xarray object, structured array or mapping
        Masked and missing values become NaN.
    names : sequence of str
        The columns to take, in this order; a table without names is taken by position.
    what : str
        What errors call the table.

    Raises
    ------
    TinyUDEError
        A column is missing, misspelt or there twice, or holds something else than numbers.
    """
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        raise TinyUDEError(f"{what} is sparse, and sparse input is not supported; give {what}.toarray().")
    values = computed(values)
    columns = _column_names(values)
    if columns is not None and _named(columns, names, what):
        values = _beside([plain(_column(values, name), what) for name in names], names, what)
    elif columns is not None:
        values = _by_position(values, columns, what)
    return plain(values, what)


def _beside(columns: Sequence[Array], names: Sequence[str], what: str) -> Array:
    """Columns as one table; single numbers as one row, without a table's second axis."""
    if len({column.shape for column in columns}) > 1:
        lengths = ", ".join(f"{name}: {column.shape}" for name, column in zip(names, columns, strict=True))
        raise TinyUDEError(f"{what} has columns of different shapes ({lengths}); give as many values in each.")
    return np.column_stack(columns) if np.ndim(columns[0]) else np.array(columns)


def plain(values: Any, what: str, remedy: str = "give a numeric array") -> Array:
    """Anything that NumPy takes for numbers as float64; what is masked or missing is NaN."""
    try:
        if isinstance(values, np.ma.MaskedArray):
            return np.asarray(np.ma.filled(np.ma.asarray(values, dtype=np.float64), np.nan))
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise TinyUDEError(
                f"{what}: Complex data not supported; give real numbers, or real and imaginary parts as channels."
            )
        if array.dtype.kind in "mM":
            raise TinyUDEError(f"{what} holds times ({array.dtype}); give numbers, and times as t.")
        if array.dtype == object and hasattr(values, "to_numpy"):  # pandas' own missing values
            array = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.array(array, dtype=np.float64, order="C")  # sums in one order: the same bits from any container
    except TinyUDEError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise TinyUDEError(f"{what} cannot be read as numbers ({error}); {remedy}.") from None


def seconds(values: Any, what: str = "t") -> Array:
    """Times as float64 seconds: numbers as they are, spans in seconds, dates and ISO texts since the first of them."""
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "mM":
        values = np.where(np.ma.getmaskarray(values), np.array("NaT", dtype=values.dtype), values.data)
    if isinstance(values, datetime.timedelta):
        return np.asarray(values.total_seconds())
    if str(getattr(values, "dtype", "")).startswith("datetime64[") and hasattr(values, "to_numpy"):
        values = values.to_numpy(dtype="datetime64[ns]")  # of any time zone
    array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    if array.dtype.kind in "OU" and array.size:
        array = _from_objects(array)
    if array.dtype.kind == "b":
        raise TinyUDEError(f"{what} holds booleans; give times in seconds.")
    if array.dtype.kind not in "mM":
        return plain(array, what, "give times in seconds, or dates as 2026-01-31T12:00:00.25")
    if array.dtype.kind == "m" and in_months(array):
        raise TinyUDEError(f"{what} is in months or years, which differ in length; give seconds, or dates.")
    if array.dtype.kind == "M":
        array = array.astype("datetime64[s]") if in_months(array) else array
        known = array[~np.isnat(array)]
        array = array - (known.ravel()[0] if known.size else array.dtype.type(0, "s"))
    return np.asarray(array / np.timedelta64(1, "s"), dtype=np.float64)


def in_months(times: Array) -> bool:
    """Whether times count months or years: dates then are their first days, spans have no length."""
    return np.datetime_data(times.dtype)[0] in ("M", "Y")


def has_columns(values: Any) -> bool:
    """Whether it is a table whose columns have names."""
    return _column_names(values) is not None


def column_named(values: Any, name: str) -> Any | None:
    """One column of a table; None where the table has none of that name."""
    if name in (_column_names(values) or ()):
        return _column(values, name)
    index = getattr(values, "index", None)
    if getattr(index, "name", None) == name:  # pandas: times are the index
        return index
    return getattr(values, "coords", {}).get(name)  # xarray: times are a coordinate


def computed(values: Any) -> Any:
    """A table that is still to be computed (polars' LazyFrame), computed."""
    return values.collect() if hasattr(values, "collect") and hasattr(values, "collect_schema") else values


def _from_objects(array: Array) -> Array:
    first = array.ravel()[0]
    if isinstance(first, str):
        try:
            moments = [datetime.datetime.fromisoformat(item) if item else None for item in array.ravel()]
        except (TypeError, ValueError):  # numbers as text, or no dates at all
            return array
        array, first = np.array(moments, dtype=object).reshape(array.shape), moments[0]
    if isinstance(first, datetime.datetime):
        utc = [None if item is None else _naive(item) for item in array.ravel()]
        return np.array(utc, dtype="datetime64[us]").reshape(array.shape)
    if isinstance(first, datetime.timedelta):
        return np.array(array.tolist(), dtype="timedelta64[us]")
    return array


def _naive(moment: Any) -> Any:
    return moment if moment.tzinfo is None else moment.astimezone(datetime.UTC).replace(tzinfo=None)


def _column_names(values: Any) -> list[Any] | None:
    """The names of a table's columns; None for one that has none."""
    for kind in ("column_names", "columns", "data_vars"):  # Arrow's tables; data frames; xarray's Dataset
        if hasattr(values, kind):
            return list(getattr(values, kind))
    if getattr(getattr(values, "index", None), "inferred_type", None) == "string":  # a row of a pandas frame
        return list(values.index)
    if isinstance(values, Mapping):
        return list(values)
    names = getattr(getattr(values, "dtype", None), "names", None)
    if names:
        return list(names)
    dims: Any = getattr(values, "dims", ())
    if len(dims) == 2 and hasattr(values, "coords") and dims[-1] in values.coords:  # xarray's DataArray
        return [str(name) for name in np.asarray(values.coords[dims[-1]])]
    return None


def _named(columns: Sequence[Any], names: Sequence[str], what: str) -> bool:
    """Whether the columns are found by name; a table in which only some are, or nearly, is rejected."""
    texts = [column for column in columns if isinstance(column, str)]
    there = [name for name in names if name in texts]
    for name in names:
        close = difflib.get_close_matches(name, texts, n=1, cutoff=_ALIKE)
        folded = [text for text in texts if text.casefold() == name.casefold()]
        hint = f" (did you mean {(folded or close)[0]!r}?)" if folded or close else ""
        if name not in there and (there or hint):
            raise TinyUDEError(
                f"{what} has no column {name!r}{hint}; its columns are {listed(list(map(str, columns)))}: name all of "
                f"{', '.join(names)}, or give an array."
            )
        if texts.count(name) > 1:
            raise TinyUDEError(f"{what} has two columns {name!r}; rename one of them.")
    return bool(there)


def _column(values: Any, name: str) -> Any:
    dims: Any = getattr(values, "dims", ())
    if not hasattr(values, "data_vars") and len(dims) == 2:
        return values.sel({dims[-1]: name})
    return values[name]


def _by_position(values: Any, columns: Sequence[Any], what: str) -> Any:
    """A table none of whose names is asked for, as its bare columns."""
    if isinstance(values, Mapping) or hasattr(values, "data_vars") or getattr(values, "dtype", None) is not None:
        dims: Any = getattr(values, "dims", ())
        if not hasattr(values, "data_vars") and len(dims) == 2:
            return np.asarray(values)
        return _beside([plain(values[name], what) for name in columns], columns, what)
    return np.asarray(values)
