"""A day of call records, published each night with Airflow; a failed check stops before handing over."""

from datetime import datetime

from airflow import DAG
from airflow.operators.bash import BashOperator

COMMANDS = {
    "make": "shoal anonymize calls/day={{ ds }} --method glove --k 5 --output releases/{{ ds }} "
    "--linkage secret/{{ ds }}.parquet --log json --json",
    "verify": "shoal verify calls/day={{ ds }} releases/{{ ds }} --linkage secret/{{ ds }}.parquet "
    "--claim k-anonymity:5,truthful --log json --json",
    "hand_over": "shoal publish releases/{{ ds }} --to outbox/{{ ds }} --format parquet-by-day --log json",
}

# exit codes other than 0 fail a task: 1 a claim, 2 the input, 3 what could not be checked
with DAG("publish_calls", schedule="@daily", start_date=datetime(2024, 5, 1), catchup=False):
    make, verify, hand_over = (
        BashOperator(task_id=name, bash_command=command) for name, command in COMMANDS.items()
    )
    make >> verify >> hand_over
