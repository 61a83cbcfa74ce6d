-- A dbt model (adapter duckdb) over what `shoal publish --format parquet-by-day` wrote: how many records have a box
-- that touches each square kilometer, by day. A box says "somewhere here, at some moment", and counts in each square
-- that it touches, so these are upper bounds. Boxes wider than 10 km say too little, and rare records are left out.
{{ config(materialized="table") }}

with boxes as (
    select
        cast(day as date) as day,
        trajectory_id,
        cast(floor(x_min / 1000) as bigint) as west_km,
        cast(ceil(x_max / 1000) as bigint) - 1 as east_km,
        cast(floor(y_min / 1000) as bigint) as south_km,
        cast(ceil(y_max / 1000) as bigint) - 1 as north_km
    from read_parquet('{{ var("release") }}/data/day=*/part-0.parquet', hive_partitioning = true)
    where x_max - x_min <= 10000 and y_max - y_min <= 10000
),

columns_of_squares as (
    select *, unnest(generate_series(west_km, east_km)) as x_km from boxes
),

squares as (
    select *, unnest(generate_series(south_km, north_km)) as y_km from columns_of_squares
)

select day, x_km, y_km, count(distinct trajectory_id) as records_at_most
from squares
group by day, x_km, y_km
having count(distinct trajectory_id) >= 5
