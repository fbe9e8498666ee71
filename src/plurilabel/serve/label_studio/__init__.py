"""Label Studio's protocol for machine learning backends, as functions without HTTP.

Label Studio requests predictions from a backend and notifies it of annotations. A server passes
the JSON of a request to one of these functions and returns its result:

=============  ===================  ======
request        function             status
=============  ===================  ======
GET /health    :func:`health`       200
POST /setup    :func:`setup`        200
POST /predict  :func:`predict`      200
POST /webhook  :func:`corrections`  201
=============  ===================  ======

An invalid request raises a ``ValueError`` that explains the problem: status 400.

The project assigns any number of choices to each task::

    <View>
      <Text name="note" value="$note"/>
      <Choices name="codes" toName="note" choice="multiple">
        <Choice value="cough"/> <Choice value="fever"/>
      </Choices>
    </View>

The data of a task are a row of the model's table, by column name. A choice matches a label of the
model by its value, alias or ``predicted_values``, if necessary ignoring case.

:func:`plurilabel.serve.create_app` serves the same protocol under ``/label-studio``.
"""

from plurilabel.serve.label_studio._protocol import (
    Correction,
    Tagging,
    confidence,
    corrections,
    health,
    predict,
    read_config,
    setup,
    task_rows,
)

__all__ = [
    "Correction",
    "Tagging",
    "confidence",
    "corrections",
    "health",
    "predict",
    "read_config",
    "setup",
    "task_rows",
]

for _name in __all__:
    globals()[_name].__module__ = __name__
